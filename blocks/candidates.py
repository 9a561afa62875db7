"""Candidates: one query with its passages and their units. It knows how to be read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .errors import EmptyQueryError, InputError, ModelError, NoPassagesError
from .segment import segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .block import Blocks
    from .deadline import Deadline
    from .passage import Passage, Span, Unit
    from .proxy import Proxy
    from .reading import Reading


def check_query(query: str) -> None:
    """Refuse a query that holds nothing to read for.

    Raises:
        InputError: It is no str.
        EmptyQueryError: It holds nothing visible.
    """
    if not isinstance(query, str):
        raise InputError(f"the query is {type(query).__name__}; give a str")
    if not query.strip():
        raise EmptyQueryError("the query is empty; give the question that the passages answer")


NOTHING_RELEVANT = 0.5
"""`Scores.nothing` from which on no passage counts as holding the answer."""


class Candidates:
    """What a scorer and an orderer work on.

    The reading is made on first use, so that a lexical scorer never wakes the proxy, and kept, so
    that everything that follows shares it.

    Args:
        query: The question.
        passages: The passages to choose from, in the caller's order.
        proxy: Reads them; None where no reading is wanted.
        deadline: Checked by the proxy between batches.

    Attributes:
        units: The units of all passages, in passage order.
        owners: Index of the passage of each unit, shape (units,).
        firsts: Index of the first unit of each passage, shape (passages,).

    Raises:
        EmptyQueryError: The query holds nothing visible.
        NoPassagesError: There are no passages.
    """

    def __init__(
        self,
        query: str,
        passages: Sequence[Passage],
        *,
        proxy: Proxy | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        check_query(query)
        if not passages:
            raise NoPassagesError("no passages given; pass at least one passage to read")
        self.query, self.passages = query, tuple(passages)
        self._proxy, self._deadline = proxy, deadline
        by_passage = [segment(passage.text) for passage in self.passages]
        counts = np.array([len(units) for units in by_passage], dtype=np.int64)
        self._counts = counts
        self.units: tuple[Unit, ...] = tuple(unit for units in by_passage for unit in units)
        self.owners: NDArray[np.int64] = np.repeat(np.arange(len(counts)), counts)
        self.firsts: NDArray[np.int64] = np.cumsum(counts) - counts

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The source text of each unit."""
        return tuple(
            self.passages[owner].text[unit.start : unit.end]
            for owner, unit in zip(self.owners, self.units, strict=True)
        )

    def units_in(self, passage: int, start: int = 0, end: int | None = None) -> range:
        """Indices of the units of a passage that a span of its text touches.

        Args:
            passage: Its index.
            start: First character of the span.
            end: One past the last; None is the end of the text.
        """
        first, stop = int(self.firsts[passage]), int(self.firsts[passage] + self._counts[passage])
        here = self.units[first:stop]
        begin = first + bisect_right(here, start, key=lambda unit: unit.end)
        if end is None:
            return range(begin, stop)
        return range(begin, first + bisect_left(here, end, key=lambda unit: unit.start))

    @cached_property
    def requires(self) -> tuple[tuple[int, ...], ...]:
        """For each unit, the indices, over all units, of those that it needs beside it."""
        return tuple(
            tuple(int(self.firsts[owner]) + i for i in unit.requires)
            for owner, unit in zip(self.owners, self.units, strict=True)
        )

    @cached_property
    def blocks(self) -> Blocks:
        """The encoded passages."""
        return self.reader.encode(self.passages, deadline=self._deadline)

    @cached_property
    def reading(self) -> Reading:
        """The reading of `query`."""
        return self.read(self.query)

    def read(self, query: str, *, answer_prefix: str = "", by_token: bool = False) -> Reading:
        """Read another query against the same blocks, costs its rows alone; see `Proxy.read`.

        One that is too long for the proxy is read by its beginning and end; see `Proxy.fitting`.
        """
        return self.reader.read(
            self.reader.fitting(query, answer_prefix),
            self.blocks,
            answer_prefix=answer_prefix,
            by_token=by_token,
            deadline=self._deadline,
        )

    def read_by(self, proxy: Proxy) -> Candidates:
        """The same candidates before another proxy, under the same deadline."""
        return Candidates(self.query, self.passages, proxy=proxy, deadline=self._deadline)

    def with_reading(self, reading: Reading) -> Candidates:
        """The same candidates, read as given."""
        other = self.over(self.passages)
        other.reading = reading
        return other

    def over(self, passages: Sequence[Passage]) -> Candidates:
        """The same query over other passages, before the same proxy, under the same deadline."""
        return Candidates(self.query, passages, proxy=self._proxy, deadline=self._deadline)

    def among(self, passages: Sequence[int]) -> Candidates:
        """Some of the passages, in that order; their blocks are these blocks."""
        other = self.over([self.passages[i] for i in passages])
        other.blocks = self.blocks.of(passages)
        return other

    @cached_property
    def query_is_cut(self) -> bool:
        """Whether the query is too long for the proxy, which reads its beginning and end."""
        return self._proxy is not None and self._proxy.fitting(self.query) != self.query

    @property
    def reader(self) -> Proxy:
        """The proxy.

        Raises:
            ModelError: None was given.
        """
        if self._proxy is None:
            raise ModelError("this method reads with a proxy, and none was given; pass proxy=...")
        return self._proxy


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Calibrated relevance: an estimate of the chance that a unit is needed for the answer.

    Attributes:
        units: In [0, 1], shape (units,); comparable across passages and queries.
        passages: In [0, 1], shape (passages,).
        nothing: In [0, 1], how far the evidence says that no passage holds the answer.
        spare: For units that can do with fewer words, the spans of their passage's text that can be
            left out: sorted, disjoint, within the unit.
    """

    units: NDArray[np.float64]
    passages: NDArray[np.float64]
    nothing: float
    spare: Mapping[int, tuple[Span, ...]] = field(default_factory=dict)


def best_per_passage(candidates: Candidates, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """The highest unit score of each passage; 0 for a passage without units. Shape (passages,)."""
    best = np.zeros(len(candidates.passages))
    np.maximum.at(best, candidates.owners, units)
    return best
