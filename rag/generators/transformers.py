"""A generator in this process: any causal decoder of transformers; the proxy's own weights too."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from foveate.blocks.deadline import Deadline
from foveate.blocks.errors import InputError
from foveate.blocks.tokens import TextTokenizer
from foveate.rag.prompt import chat_messages

from ._chat import ChatFrame
from ._decoding import Decoding
from .base import MAX_TOKENS, Generator

if TYPE_CHECKING:
    from collections.abc import Generator as PythonGenerator

    from foveate.blocks.proxy import Proxy
    from foveate.rag.context import Context


class TransformersGenerator(Generator):
    """Generates with a loaded decoder. Safe to use from many threads; they take turns.

    Args:
        model: A causal decoder with its language-model head, as `load_decoder` gives it.
        tokenizer: Its fast tokenizer. Its chat template lays out the prompt; content is tokenized
            apart from it, as data.
        name: What to call it; the model's own name by default.
        instruction: The system message; see `chat_messages`.
        temperature: 0 is greedy: the same context gives the same answer.
        top_p: Share of probability that sampling draws from, in (0, 1].

    Raises:
        InputError: The tokenizer is not a fast one, or a number is out of its range.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str = "",
        instruction: str | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                f"{type(tokenizer).__name__} is not a fast tokenizer; load it by AutoTokenizer"
            )
        if temperature < 0 or not 0 < top_p <= 1:
            raise InputError(
                f"temperature {temperature} must be 0 or more, and top_p {top_p} in (0, 1]"
            )
        self.model = model
        self.name = name or str(getattr(model, "name_or_path", "")) or type(model).__name__
        self.instruction = instruction
        self.temperature, self.top_p = temperature, top_p
        self.frame = ChatFrame.of(TextTokenizer(tokenizer))
        self.window = _window(model.config)
        self._ends = sorted(self.frame.ends | _ends_of(model.generation_config))
        # transformers does not promise that one model can run two generations at a time.
        self._turn = threading.Lock()

    @classmethod
    def from_proxy(cls, proxy: Proxy, **options: Any) -> TransformersGenerator:
        """The proxy's base weights also answer; takes the same keywords as the constructor."""
        return cls(proxy.base, proxy.tokenizer.hf, **{"name": proxy.name, **options})

    def prompt(self, context: Context) -> list[int]:
        """Token ids of the prompt for a context."""
        system, user = chat_messages(context, instruction=self.instruction)
        return self.frame.prompt(system["content"], user["content"])

    def stream(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> PythonGenerator[str]:
        """The answer, piece by piece, while it is computed in a thread of its own.

        Raises:
            InputError: The prompt and `max_tokens` do not fit into the model's window.
            GeneratorError: The model failed.
            DeadlineExceededError: The deadline passed first.
        """
        ids = self.prompt(context)
        self._check_room(len(ids), max_tokens)
        decoding = Decoding(
            self.model, self.frame.tokenizer.hf, self._settings(max_tokens), self.name, self._turn
        )
        return decoding.stream(ids, deadline or Deadline())

    def _check_room(self, prompt: int, answer: int) -> None:
        if answer < 1:
            raise InputError(f"max_tokens is {answer}; give at least 1")
        if self.window is not None and prompt + answer > self.window:
            over = prompt + answer - self.window
            raise InputError(
                f"the prompt has {prompt} tokens and the answer may take {answer}, but {self.name} "
                f"has room for {self.window}: {over} too many; lower the budget or max_tokens"
            )

    def _settings(self, max_tokens: int) -> dict[str, Any]:
        pad = self.frame.tokenizer.hf.pad_token_id
        sampling = {"temperature": self.temperature, "top_p": self.top_p}
        return {
            "max_new_tokens": max_tokens,
            "eos_token_id": self._ends or None,
            "pad_token_id": pad if pad is not None else (self._ends or [0])[0],
            "do_sample": self.temperature > 0,
            **(sampling if self.temperature > 0 else {}),
        }


def _window(config: Any) -> int | None:
    size = getattr(config.get_text_config(), "max_position_embeddings", None)
    return None if size is None else int(size)


def _ends_of(settings: Any) -> set[int]:
    ends = getattr(settings, "eos_token_id", None)
    return set() if ends is None else set(ends) if isinstance(ends, list | tuple) else {int(ends)}
