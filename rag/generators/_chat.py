"""Laying out chat messages as token ids: control tokens come from the template, text from content.

The template is rendered once around slots and split there; what goes into the slots is tokenized
apart, as data. So no marker in a passage, a title or a question can end a turn or begin one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.blocks.tokens import TextTokenizer

_SYSTEM_SLOT = "\u2063system\u2063"
_USER_SLOT = "\u2063user\u2063"
_FOLD = "\n\n"
_ANSWER_CUE = "\n\nAnswer:"


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """The fixed parts of a prompt of one system and one user message.

    Attributes:
        tokenizer: Tokenizes content as data.
        before: Ids before the system message.
        between: Ids between the two; None if the template takes no system message, which then opens
            the user message.
        after: Ids after the user message, up to where the answer begins.
        ends: Ids that end an answer.
    """

    tokenizer: TextTokenizer
    before: tuple[int, ...]
    between: tuple[int, ...] | None
    after: tuple[int, ...]
    ends: frozenset[int]

    @classmethod
    def of(cls, tokenizer: TextTokenizer) -> ChatFrame:
        """The frame of a tokenizer's chat template; a plain one if it has none that can be used."""
        ends = _ends(tokenizer)
        parts = _split(
            tokenizer,
            [_message("system", _SYSTEM_SLOT), _message("user", _USER_SLOT)],
            (_SYSTEM_SLOT, _USER_SLOT),
        )
        if parts:
            before, between, after = parts
            return cls(tokenizer, before, between, after, ends)
        parts = _split(tokenizer, [_message("user", _USER_SLOT)], (_USER_SLOT,))
        if parts:
            return cls(tokenizer, parts[0], None, parts[1], ends)
        return cls(tokenizer, _bos(tokenizer), None, _text(tokenizer, _ANSWER_CUE), ends)

    def prompt(self, system: str, user: str) -> list[int]:
        """Token ids of the prompt."""
        if self.between is None:
            return [*self.before, *_text(self.tokenizer, system + _FOLD + user), *self.after]
        system_ids, user_ids = _text(self.tokenizer, system), _text(self.tokenizer, user)
        return [*self.before, *system_ids, *self.between, *user_ids, *self.after]


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _text(tokenizer: TextTokenizer, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.encode_text(text).ids.tolist())


def _split(
    tokenizer: TextTokenizer, messages: list[dict[str, str]], slots: Sequence[str]
) -> list[tuple[int, ...]]:
    """Ids of the template around its slots; empty if it does not show each once, in order."""
    rest = _rendered(tokenizer.hf, messages, add_generation_prompt=True)
    parts = []
    for slot in slots:
        if rest.count(slot) != 1:
            return []
        part, _, rest = rest.partition(slot)
        parts.append(part)
    return [tuple(tokenizer.encode_template(part)) for part in (*parts, rest)]


def _rendered(hf: Any, messages: list[dict[str, str]], **options: bool) -> str:
    """The template's text; empty if there is no template or it refuses these roles."""
    if not getattr(hf, "chat_template", None):
        return ""
    from jinja2 import TemplateError

    try:
        text: str = hf.apply_chat_template(messages, tokenize=False, **options)
    except TemplateError:
        return ""
    return text


def _ends(tokenizer: TextTokenizer) -> frozenset[int]:
    """The end-of-text token, and the control token that the template puts after an answer."""
    hf = tokenizer.hf
    turns = [_message("user", _USER_SLOT), _message("assistant", _SYSTEM_SLOT)]
    after = _rendered(hf, turns).partition(_SYSTEM_SLOT)[2]
    first = [i for i in tokenizer.encode_template(after)[:1] if i in hf.added_tokens_decoder]
    return frozenset(first) | ({hf.eos_token_id} - {None})


def _bos(tokenizer: TextTokenizer) -> tuple[int, ...]:
    return tuple(tokenizer.hf("")["input_ids"][:1])
