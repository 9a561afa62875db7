"""What is known about each unit before a score is made of it: attention, words, place.

Each feature has one value a unit. Those called standardised have mean 0 and deviation 1 over the
candidates of one query, so that one set of weights serves long and short lists; the absolute ones
tell a query with an answer from one without.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .lexical import bm25, terms, unit_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .base import Candidates

ATTENTION = ("attention", "looked")
LEXICAL = ("bm25", "passage_bm25")
PLACE = ("title_in_query", "length", "first")
FUSED = (*ATTENTION, "title_attention", *LEXICAL, *PLACE, "bridge", "named")
"""The features of the fused score, in the order its weights are printed."""

TOP_UNITS = 3
"""Best units of a first look, from which a second passage may be reached."""

_TINY = 1e-7


class Features:
    """Features of one query's units, computed on first use.

    Args:
        candidates: The units; read by the proxy only if an attention feature is asked for.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._owners = candidates.owners

    def matrix(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The named features side by side, shape (units, names)."""
        if not len(self._owners):
            return np.zeros((0, len(names)))
        columns: list[NDArray[np.float64]] = [getattr(self, name) for name in names]
        return np.stack(columns, axis=1)

    @cached_property
    def attention(self) -> NDArray[np.float64]:
        """Log attention mass, standardised for each head, averaged over heads."""
        return head_ranking(self._candidates.reading.mass)

    @cached_property
    def looked(self) -> NDArray[np.float64]:
        """Log attention mass over the shared head's, averaged over probed heads. Absolute."""
        reading = self._candidates.reading
        odds = np.log(reading.mass + _TINY) - np.log(reading.head_share + _TINY)[:, None]
        return _over_heads(odds)

    @cached_property
    def title_attention(self) -> NDArray[np.float64]:
        """Log attention on the passage's title line, standardised over passages."""
        titles = np.log(self._candidates.reading.titles + _TINY)
        return _over_heads(standardise(titles))[self._owners]

    @cached_property
    def bm25(self) -> NDArray[np.float64]:
        """BM25 of title and unit, standardised."""
        return standardise(bm25(self._query, self._documents)[0])

    @cached_property
    def passage_bm25(self) -> NDArray[np.float64]:
        """BM25 of the whole passage, standardised over passages."""
        documents = [
            title + Counter(terms(passage.text))
            for title, passage in zip(self._titles, self._candidates.passages, strict=True)
        ]
        return standardise(bm25(self._query, documents)[0])[self._owners]

    @cached_property
    def title_in_query(self) -> NDArray[np.float64]:
        """Share of the title's terms that the query holds."""
        shares = [len(t.keys() & self._query.keys()) / max(len(t), 1) for t in self._titles]
        return np.array(shares)[self._owners]

    @cached_property
    def length(self) -> NDArray[np.float64]:
        """Log length in characters, standardised."""
        return standardise(np.log([max(len(text), 1) for text in self._candidates.texts]))

    @cached_property
    def first(self) -> NDArray[np.float64]:
        """1 for the first unit of each passage."""
        return (np.diff(self._owners, prepend=-1) > 0).astype(np.float64)

    @cached_property
    def bridge(self) -> NDArray[np.float64]:
        """Likeness to a top unit of another passage in what the query does not say, in [0, 1].

        A question of two hops names only the first; the unit that answers it shares its words with
        the second.
        """
        best = np.zeros(len(self._owners))
        for unit in self._top:
            beyond = [term for term in self._documents[unit] if term not in self._query]
            raw, _ = bm25(beyond, self._documents)
            like = raw / max(float(raw[unit]), _TINY)
            like[self._owners == self._owners[unit]] = 0.0
            best = np.maximum(best, like)
        return best

    @cached_property
    def named(self) -> NDArray[np.float64]:
        """1 for the units of a passage whose title a top unit of another passage names."""
        tops = [(self._owners[u], frozenset(terms(self._candidates.texts[u]))) for u in self._top]
        named = [
            float(any(title and owner != p and title.keys() <= words for owner, words in tops))
            for p, title in enumerate(self._titles)
        ]
        return np.array(named)[self._owners]

    @cached_property
    def _query(self) -> dict[str, None]:
        # In the order of the query: sums of floats must not hang on the order of a set.
        return dict.fromkeys(terms(self._candidates.query))

    @cached_property
    def _titles(self) -> list[Counter[str]]:
        return [Counter(terms(passage.title)) for passage in self._candidates.passages]

    @cached_property
    def _documents(self) -> list[Counter[str]]:
        return unit_terms(self._candidates)

    @cached_property
    def _top(self) -> list[int]:
        first_look = self.attention + self.bm25
        top: list[int] = np.argsort(-first_look, kind="stable")[:TOP_UNITS].tolist()
        return top


def head_ranking(mass: NDArray[np.floating]) -> NDArray[np.float64]:
    """Log of (heads, units) attention mass, standardised for each head, averaged: (units,)."""
    return _over_heads(standardise(np.log(mass + _TINY)))


def standardise(values: NDArray[np.floating] | list[float]) -> NDArray[np.float64]:
    """Mean 0 and deviation 1 along the last axis; all 0 where the values do not differ."""
    data = np.asarray(values, dtype=np.float64)
    if not data.shape[-1]:
        return data
    centred = data - data.mean(-1, keepdims=True)
    deviation = data.std(-1, keepdims=True)
    flat = np.zeros_like(centred)
    scaled: NDArray[np.float64] = np.divide(centred, deviation, out=flat, where=deviation > 1e-12)
    return scaled


def _over_heads(values: NDArray[np.floating]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = values.mean(0, dtype=np.float64)
    return mean
