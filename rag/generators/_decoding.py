"""One generation in a thread: its tokens come out as text, its faults as they were raised."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import FoveateError, GeneratorError

if TYPE_CHECKING:
    from collections.abc import Generator as PythonGenerator
    from collections.abc import Sequence

    import torch

    from foveate.blocks.deadline import Deadline

TURN_POLL = 0.05  # seconds between looks at the deadline while another generation runs


class Decoding:
    """Runs `model.generate` once and hands its tokens out as text.

    Args:
        model: The decoder.
        hf: Its tokenizer.
        settings: Fields of a transformers `GenerationConfig`.
        name: The generator's name, for messages.
        turn: Held while the model generates.
    """

    def __init__(
        self, model: Any, hf: Any, settings: dict[str, Any], name: str, turn: threading.Lock
    ) -> None:
        self._model, self._name, self._turn = model, name, turn
        self._settings = settings
        self._text = Detokenizer(hf, settings["eos_token_id"] or ())
        self._tokens: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._prompt_seen = False
        self._fault: Exception | None = None

    def stream(self, ids: Sequence[int], deadline: Deadline) -> PythonGenerator[str]:
        """The text of the tokens after `ids`. The thread has ended when this has."""
        worker = threading.Thread(
            target=self._work, args=(ids, deadline), name="foveate-generate", daemon=True
        )
        worker.start()
        try:
            while (tokens := self._tokens.get()) is not None:
                for token in tokens:
                    if piece := self._text.push(token):
                        yield piece
            if self._fault is not None:
                raise self._fault
            if rest := self._text.flush():
                yield rest
        finally:
            self._closed.set()
            worker.join()

    # The two methods of a transformers streamer.

    def put(self, value: torch.Tensor) -> None:
        """Take tokens from `generate`, which hands over the prompt first."""
        if self._prompt_seen:
            self._tokens.put(value.flatten().tolist())
        self._prompt_seen = True

    def end(self) -> None:
        """`generate` is done; the worker says so itself, whether it went well or not."""

    def _work(self, ids: Sequence[int], deadline: Deadline) -> None:
        try:
            if self._take_turn(deadline):
                try:
                    self._generate(ids, deadline)
                finally:
                    self._turn.release()
        except FoveateError as fault:
            self._fault = fault
        except Exception as fault:  # noqa: BLE001 - whatever the model raises belongs to the reader
            self._fault = GeneratorError(f"{self._name} failed: {type(fault).__name__}: {fault}")
            self._fault.__cause__ = fault
        finally:
            self._tokens.put(None)

    def _take_turn(self, deadline: Deadline) -> bool:
        while not self._closed.is_set():
            deadline.check()
            if self._turn.acquire(timeout=TURN_POLL):
                return True
        return False

    def _generate(self, ids: Sequence[int], deadline: Deadline) -> None:
        import torch
        from transformers import StoppingCriteriaList
        from transformers.generation.configuration_utils import GenerationConfig

        def called_off(so_far: torch.Tensor, _scores: Any, **_: Any) -> torch.Tensor:
            deadline.check()
            stop = self._closed.is_set()
            return torch.full((len(so_far),), stop, dtype=torch.bool, device=so_far.device)

        settings = GenerationConfig(**self._settings)  # type: ignore[no-untyped-call]
        prompt = torch.tensor([ids], device=self._model.device)
        self._model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            generation_config=settings,
            stopping_criteria=StoppingCriteriaList([called_off]),
            streamer=self,
        )


class Detokenizer:
    """Token ids to text, in pieces that split no character.

    A token is decoded together with those before it that are not yet settled, because a tokenizer
    may spell a token differently at the start of a text, and a character may take several tokens.

    Args:
        hf: The tokenizer.
        skip: Ids that are no text.
    """

    def __init__(self, hf: Any, skip: Sequence[int]) -> None:
        self._hf, self._skip = hf, frozenset(skip)
        self._ids: list[int] = []
        self._settled = 0  # ids whose text is out; they stay as long as the next ones lean on them

    def push(self, token: int) -> str:
        """The text that is certain now; empty while a character is incomplete."""
        if token in self._skip:
            return ""
        self._ids.append(token)
        piece = self._pending()
        if not piece or piece.endswith("\ufffd"):
            return ""
        self._ids = self._ids[self._settled :]
        self._settled = len(self._ids)
        return piece

    def flush(self) -> str:
        """What was held back."""
        piece = self._pending()
        self._ids, self._settled = [], 0
        return piece

    def _pending(self) -> str:
        whole = self._decode(self._ids)
        return whole[len(self._decode(self._ids[: self._settled])) :]

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self._hf.decode(ids, skip_special_tokens=True)
        return text
