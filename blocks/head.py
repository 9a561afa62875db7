"""The reading prompt: the head that every block is encoded after, and the query rows that read.

    [head: BOS, chat header, instruction] [block] [block] ... [question, end of turn, answer cue]

The head is the shared anchor: encoded once per model, it soaks up the attention that a token
without a target leaves on the first positions, so that blocks encoded apart from each other do not
each grow a sink of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .chat import USER_SLOT, around_slots, message, opening
from .tokens import Tokens

if TYPE_CHECKING:
    from .passage import Passage
    from .tokens import TextTokenizer

INSTRUCTION = "Read the passages and answer the question.\n\n"
QUESTION = "Question: "
ANSWER_CUE = "Answer:"
CONTENT_FREE_QUERY = "N/A"


@dataclass(frozen=True, slots=True)
class ReadingPrompt:
    """Token ids of the fixed parts, and how a passage and a query are laid out between them.

    Attributes:
        tokenizer: Tokenizes content as data.
        head: Ids of the head.
        tail: Ids between the question and the end of the prompt.
        content_free: Ids of the query rows of a query that asks nothing.
    """

    tokenizer: TextTokenizer
    head: tuple[int, ...]
    tail: tuple[int, ...]
    content_free: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: TextTokenizer) -> ReadingPrompt:
        """Lay out the prompt by the model's chat template, or plainly if it has none."""
        before, after = _chat_frame(tokenizer)
        head = (*before, *tokenizer.encode_text(INSTRUCTION).ids.tolist())
        tail = (*after, *tokenizer.encode_text(ANSWER_CUE).ids.tolist())
        ask = tokenizer.encode_text(QUESTION + CONTENT_FREE_QUERY).ids.tolist()
        return cls(tokenizer, head, tail, (*ask, *tail))

    def query(self, query: str, answer_prefix: str = "") -> list[int]:
        """Ids of the query rows: question, end of turn, answer cue, start of the answer."""
        ids = [*self.tokenizer.encode_text(QUESTION + query).ids.tolist(), *self.tail]
        if answer_prefix:
            ids += self.tokenizer.encode_text(" " + answer_prefix).ids.tolist()
        return ids

    def title(self, passage: Passage) -> list[int]:
        """Ids of the title line; empty if there is no title."""
        if not passage.title:
            return []
        return list(map(int, self.tokenizer.encode_text(passage.title + "\n").ids))

    def text(self, text: str) -> Tokens:
        """Tokens of a passage's text and of the blank line behind it, whose span is empty."""
        tokens, end = self.tokenizer.encode_text(text), self.tokenizer.encode_text("\n\n").ids
        edge = np.full(len(end), len(text), dtype=np.int64)
        return Tokens(
            np.concatenate([tokens.ids, end]),
            np.concatenate([tokens.starts, edge]),
            np.concatenate([tokens.ends, edge]),
        )


def _chat_frame(tokenizer: TextTokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    parts = around_slots(tokenizer, [message("user", USER_SLOT)], [USER_SLOT])
    if parts:
        return parts[0], parts[1]
    return opening(tokenizer), tuple(tokenizer.encode_template("\n"))
