"""Chat messages as token ids: control tokens come from the template, text from content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.blocks.chat import (
    SYSTEM_SLOT,
    USER_SLOT,
    around_slots,
    message,
    opening,
    rendered,
)

if TYPE_CHECKING:
    from foveate.blocks.tokens import TextTokenizer

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
        parts = around_slots(
            tokenizer,
            [message("system", SYSTEM_SLOT), message("user", USER_SLOT)],
            (SYSTEM_SLOT, USER_SLOT),
        )
        if parts:
            before, between, after = parts
            return cls(tokenizer, before, between, after, ends)
        parts = around_slots(tokenizer, [message("user", USER_SLOT)], (USER_SLOT,))
        if parts:
            return cls(tokenizer, parts[0], None, parts[1], ends)
        return cls(tokenizer, opening(tokenizer), None, _text(tokenizer, _ANSWER_CUE), ends)

    def prompt(self, system: str, user: str) -> list[int]:
        """Token ids of the prompt."""
        if self.between is None:
            return [*self.before, *_text(self.tokenizer, system + _FOLD + user), *self.after]
        system_ids, user_ids = _text(self.tokenizer, system), _text(self.tokenizer, user)
        return [*self.before, *system_ids, *self.between, *user_ids, *self.after]


def _text(tokenizer: TextTokenizer, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.encode_text(text).ids.tolist())


def _ends(tokenizer: TextTokenizer) -> frozenset[int]:
    """The end-of-text token, and the control token that the template puts after an answer."""
    hf = tokenizer.hf
    turns = [message("user", USER_SLOT), message("assistant", SYSTEM_SLOT)]
    after = rendered(hf, turns).partition(SYSTEM_SLOT)[2]
    first = [i for i in tokenizer.encode_template(after)[:1] if i in hf.added_tokens_decoder]
    return frozenset(first) | ({hf.eos_token_id} - {None})
