"""Tokenization in which text is data.

A chat template decides which control tokens a prompt holds; a passage or a query never does. Chat
templates do not protect against markers such as `<|im_end|>` inside the content, so content is
tokenized here, apart from the template, and cannot yield a control token whatever it holds.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Token ids and the characters each came from.

    Attributes:
        ids: Token ids, shape (tokens,).
        starts: First character of each token, shape (tokens,).
        ends: One past its last character, shape (tokens,).
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)


class TextTokenizer:
    """A Hugging Face fast tokenizer, split into its two uses: content and template.

    Args:
        tokenizer: A `PreTrainedTokenizerFast`; its own state is left alone.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.hf = tokenizer
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)
        self._backend.encode_special_tokens = True
        self._backend.no_truncation()
        self._backend.no_padding()
        added = self._backend.get_added_tokens_decoder()
        self._control_ids = frozenset(i for i, token in added.items() if _is_marker(token.content))
        self._marker = _marker_pattern(t.content for t in added.values() if _is_marker(t.content))

    def encode_text(self, text: str) -> Tokens:
        """Tokenize content. No control token can come out, whatever `text` holds.

        Lone surrogates, which no tokenizer can take, count as U+FFFD; offsets refer to `text` as
        given.
        """
        text = LONE_SURROGATE.sub("\ufffd", text)
        tokens = self._encode_pieces(text, list(self._cuts(text)))
        if not self._control_ids.isdisjoint(tokens.ids.tolist()):
            # A normalizer made a marker out of other characters: no single character can be one.
            tokens = self._encode_pieces(text, list(range(1, len(text))))
        return tokens

    def encode_template(self, template: str) -> list[int]:
        """Tokenize trusted prompt text, in which control markers do count."""
        ids: list[int] = self.hf(template, add_special_tokens=False)["input_ids"]
        return ids

    def count(self, text: str) -> int:
        """Number of tokens of `text` as content."""
        text = LONE_SURROGATE.sub("\ufffd", text)
        edges = [0, *self._cuts(text), len(text)]
        # Without offsets it takes half the time.
        encodings = self._backend.encode_batch_fast(
            [text[a:b] for a, b in pairwise(edges)], add_special_tokens=False
        )
        return sum(map(len, encodings))

    def _cuts(self, text: str) -> Iterator[int]:
        # One character into every marker, so that no piece holds a whole one.
        return (match.start() + 1 for match in self._marker.finditer(text))

    def _encode_pieces(self, text: str, cuts: list[int]) -> Tokens:
        edges = [0, *cuts, len(text)]
        pieces = [text[a:b] for a, b in pairwise(edges)]
        encodings = [self._backend.encode(piece, add_special_tokens=False) for piece in pieces]
        ids = [np.asarray(e.ids, dtype=np.int64) for e in encodings]
        spans = [
            np.asarray(e.offsets, dtype=np.int64).reshape(-1, 2) + edge
            for e, edge in zip(encodings, edges, strict=False)
        ]
        span = np.concatenate(spans)
        return Tokens(np.concatenate(ids), span[:, 0], span[:, 1])


def _is_marker(content: str) -> bool:
    # Runs of blanks are added tokens in some vocabularies; they are text, not control.
    return len(content) > 1 and not content.isspace()


def _marker_pattern(markers: Iterator[str]) -> re.Pattern[str]:
    # The lookahead finds overlapping markers too. No marker at all: a pattern that never matches.
    alternatives = "|".join(re.escape(m) for m in sorted(markers, key=len, reverse=True))
    return re.compile(f"(?=(?:{alternatives}))" if alternatives else r"(?!)")
