"""What a retriever is: a query in, ranked passages out.

Anything with a fitting `retrieve` works in a pipeline; there is nothing to inherit from or to
register.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from foveate.blocks.errors import EmptyQueryError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foveate.blocks.passage import Passage


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that was found.

    Attributes:
        passage: The passage, as it was added.
        score: How well it fits; comparable within one answer only. Its scale is the retriever's:
            BM25, cosine, or a sum of reciprocal ranks.
        rank: Place in the answer, from 1.
    """

    passage: Passage
    score: float
    rank: int


@runtime_checkable
class Retriever(Protocol):
    """Finds passages for a query."""

    def retrieve(self, query: str, k: int = 10) -> list[Hit]:
        """Find the passages that fit a query.

        Args:
            query: What the user asks: plain text, never a query language.
            k: How many hits at most.

        Returns:
            At most `k` hits, best first; none when nothing fits.

        Raises:
            EmptyQueryError: The query holds no visible character.
            InputError: `k` is not a positive integer.
        """


def check_request(query: str, k: int) -> str:
    """The query, fit for encoding as UTF-8.

    Raises:
        EmptyQueryError: The query holds no visible character.
        InputError: The query is no string, or `k` is not a positive integer.
    """
    if not isinstance(query, str):
        raise InputError(f"the query is {type(query).__name__}; give a str")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k is {k!r}; give the number of hits wanted, 1 or more")
    if not any(_is_visible(character) for character in query):
        raise EmptyQueryError("the query is empty; give the question that the passages answer")
    return query.encode("utf-8", "replace").decode("utf-8")


def ranked(found: Iterable[tuple[Passage, float]]) -> list[Hit]:
    """Number passages that come best first."""
    return [Hit(passage, score, rank) for rank, (passage, score) in enumerate(found, start=1)]


def _is_visible(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ"
