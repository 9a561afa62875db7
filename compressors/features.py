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

from .grouped import sum_by
from .hops import second_query
from .lexical import bm25, terms, unit_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.reading import Reading

    from .base import Candidates

ATTENTION = ("attention", "looked", "density", "peak", "last")
AROUND = ("title_attention", "passage_attention", "near_attention", "beside")
LEXICAL = ("bm25", "passage_bm25", "near_bm25", "coverage")
PLACE = ("title_in_query", "length", "first", "place")
BRIDGES = ("bridge", "named", "names", "rank")
WHOLE = ("intensity", "over_baseline")
SECOND_HOP = ("hop_attention", "hop_looked", "hop_title")
FUSED = (*ATTENTION, *AROUND, *LEXICAL, *PLACE, *BRIDGES, *WHOLE)
"""The features of one reading, in the order its weights are printed."""

TWO_HOPS = (*FUSED, *SECOND_HOP)
"""Those of two readings."""

TOP_UNITS = 3
"""Best units of a first look, from which a second passage may be reached."""

SHOWN_UNITS = 2
"""How many of them the second reading is shown."""

_TINY = 1e-7


class Features:
    """Features of one query's units, computed on first use.

    Args:
        candidates: The units; read by the proxy only if an attention feature is asked for, and a
            second time only for those of the second hop.
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
        return _looked(self._candidates.reading)

    @cached_property
    def density(self) -> NDArray[np.float64]:
        """Attention mass per token: Sentinel's mean in place of a sum. Standardised."""
        reading = self._candidates.reading
        return head_ranking(reading.mass / np.maximum(reading.tokens, 1))

    @cached_property
    def peak(self) -> NDArray[np.float64]:
        """As `attention`, of the query row that looked most."""
        return head_ranking(self._candidates.reading.peak)

    @cached_property
    def last(self) -> NDArray[np.float64]:
        """As `attention`, of the last query row, which predicts the answer."""
        return head_ranking(self._candidates.reading.last)

    @cached_property
    def title_attention(self) -> NDArray[np.float64]:
        """Log attention on the passage's title line, standardised over passages."""
        return self._titles_of(self._candidates.reading)

    @cached_property
    def passage_attention(self) -> NDArray[np.float64]:
        """Log attention on the whole passage, standardised over passages."""
        reading = self._candidates.reading
        count = len(self._candidates.passages)
        whole = np.stack([sum_by(self._owners, row, count) for row in reading.mass])
        return head_ranking(whole + reading.titles)[self._owners]

    @cached_property
    def near_attention(self) -> NDArray[np.float64]:
        """Mean `attention` of the units before and behind it in its passage."""
        return self._near(self.attention)

    @cached_property
    def beside(self) -> NDArray[np.float64]:
        """Highest `attention` of the other units of its passage; its own where it has none."""
        best = self.attention.copy()
        for owner in np.unique(self._owners):
            here = np.flatnonzero(self._owners == owner)
            if len(here) > 1:
                ranked = np.sort(self.attention[here])
                top = self.attention[here] == ranked[-1]
                best[here] = np.where(top, ranked[-2], ranked[-1])
        return best

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
    def near_bm25(self) -> NDArray[np.float64]:
        """Mean `bm25` of the units before and behind it in its passage."""
        return self._near(self.bm25)

    @cached_property
    def coverage(self) -> NDArray[np.float64]:
        """Share of the query's terms, by IDF, that title and unit hold. Absolute."""
        size = len(self._documents)
        weight = {
            term: float(np.log1p(size / (1 + sum(term in d for d in self._documents))))
            for term in self._query
        }
        total = sum(weight.values()) or 1.0
        return np.array(
            [sum(w for t, w in weight.items() if t in d) / total for d in self._documents]
        )

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
    def place(self) -> NDArray[np.float64]:
        """Log number of the unit within its passage, from 1."""
        index = np.arange(len(self._owners)) - self._candidates.firsts[self._owners]
        placed: NDArray[np.float64] = np.log1p(index.astype(np.float64))
        return placed

    @cached_property
    def bridge(self) -> NDArray[np.float64]:
        """Likeness to a top unit of another passage in what the query does not say, in [0, 1].

        A question of two hops names only the first; the unit that answers it shares its words with
        the second.
        """
        best = np.zeros(len(self._owners))
        for unit in self.top:
            beyond = [term for term in self._documents[unit] if term not in self._query]
            raw, _ = bm25(beyond, self._documents)
            like = raw / max(float(raw[unit]), _TINY)
            like[self._owners == self._owners[unit]] = 0.0
            best = np.maximum(best, like)
        return best

    @cached_property
    def named(self) -> NDArray[np.float64]:
        """1 for the units of a passage whose title a top unit of another passage names."""
        tops = [(self._owners[u], self._words[u]) for u in self.top]
        named = [
            float(any(title and owner != p and title.keys() <= words for owner, words in tops))
            for p, title in enumerate(self._titles)
        ]
        return np.array(named)[self._owners]

    @cached_property
    def names(self) -> NDArray[np.float64]:
        """1 for the units that name the title of another passage with a top unit."""
        owners = {int(self._owners[u]) for u in self.top}
        titles = [(p, self._titles[p].keys()) for p in owners if self._titles[p]]
        return np.array(
            [
                float(any(p != owner and title <= words for p, title in titles))
                for owner, words in zip(self._owners.tolist(), self._words, strict=True)
            ]
        )

    @cached_property
    def rank(self) -> NDArray[np.float64]:
        """Log rank by the first look, from 1."""
        order = np.argsort(-self.first_look, kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = np.log1p(np.arange(len(order)))
        return ranks

    @cached_property
    def intensity(self) -> NDArray[np.float64]:
        """Log attention mass of all units over their tokens; one value for all. Absolute."""
        reading = self._candidates.reading
        total = np.log(reading.mass.sum(1) / max(int(reading.tokens.sum()), 1) + _TINY)
        return np.full(len(self._owners), float(total.mean()))

    @cached_property
    def over_baseline(self) -> NDArray[np.float64]:
        """Log attention mass of all units over what a content-free query gives; one value for all.

        The calibration of in-context reranking, https://arxiv.org/abs/2410.02642, section 3.2, as a
        ratio. Absolute.
        """
        reading = self._candidates.reading
        odds = np.log(reading.mass.sum(1) + _TINY) - np.log(reading.baseline.sum(1) + _TINY)
        return np.full(len(self._owners), float(odds.mean()))

    @cached_property
    def hop_attention(self) -> NDArray[np.float64]:
        """As `attention`, of the second reading."""
        return head_ranking(self._second.mass)

    @cached_property
    def hop_looked(self) -> NDArray[np.float64]:
        """As `looked`, of the second reading."""
        return _looked(self._second)

    @cached_property
    def hop_title(self) -> NDArray[np.float64]:
        """As `title_attention`, of the second reading."""
        return self._titles_of(self._second)

    @cached_property
    def first_look(self) -> NDArray[np.float64]:
        """What the second hop starts from: attention and BM25, standardised, added."""
        return self.attention + 0.5 * self.bm25

    @cached_property
    def top(self) -> list[int]:
        """The best units of the first look."""
        best: list[int] = np.argsort(-self.first_look, kind="stable")[:TOP_UNITS].tolist()
        return best

    @cached_property
    def _second(self) -> Reading:
        return self._candidates.read(second_query(self._candidates, self.top[:SHOWN_UNITS]))

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
    def _words(self) -> list[frozenset[str]]:
        return [frozenset(terms(text)) for text in self._candidates.texts]

    def _titles_of(self, reading: Reading) -> NDArray[np.float64]:
        return _over_heads(standardise(np.log(reading.titles + _TINY)))[self._owners]

    def _near(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean over the neighbours within the passage; 0, the mean of all, where there is none."""
        same = self._owners[1:] == self._owners[:-1]
        total, count = np.zeros(len(values)), np.zeros(len(values))
        total[1:] += np.where(same, values[:-1], 0.0)
        total[:-1] += np.where(same, values[1:], 0.0)
        count[1:] += same
        count[:-1] += same
        near: NDArray[np.float64] = total / np.maximum(count, 1)
        return near


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


def _looked(reading: Reading) -> NDArray[np.float64]:
    odds = np.log(reading.mass + _TINY) - np.log(reading.head_share + _TINY)[:, None]
    return _over_heads(odds)


def _over_heads(values: NDArray[np.floating]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = values.mean(0, dtype=np.float64)
    return mean
