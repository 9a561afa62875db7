"""Features of the text: what a unit says, and where it stands."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from foveate.compressors.lexical import bm25, terms
from foveate.compressors.question import asks_for, holds
from foveate.compressors.ranking import standardise

from .base import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Words(Units):
    """What the words of a unit have in common with the query's, and its place."""

    @cached_property
    def bm25(self) -> NDArray[np.float64]:
        """BM25 of title and unit, standardised."""
        return standardise(bm25(self.query, self.documents)[0])

    @cached_property
    def passage_bm25(self) -> NDArray[np.float64]:
        """BM25 of the whole passage, standardised over passages."""
        documents = [
            title + Counter(terms(passage.text))
            for title, passage in zip(self.titles, self.candidates.passages, strict=True)
        ]
        return standardise(bm25(self.query, documents)[0])[self.owners]

    @cached_property
    def near_bm25(self) -> NDArray[np.float64]:
        """Mean `bm25` of the units before and behind it in its passage."""
        return self.near(self.bm25)

    @cached_property
    def coverage(self) -> NDArray[np.float64]:
        """Share of the query's terms, by IDF, that title and unit hold. Absolute."""
        size = len(self.documents)
        weight = {
            term: float(np.log1p(size / (1 + sum(term in d for d in self.documents))))
            for term in self.query
        }
        total = sum(weight.values()) or 1.0
        return np.array(
            [sum(w for t, w in weight.items() if t in d) / total for d in self.documents]
        )

    @cached_property
    def phrase(self) -> NDArray[np.float64]:
        """Share of the query's pairs of neighbouring terms that stand so in the unit."""
        asked = pairs(self.candidates.query)
        if not asked:
            return np.zeros(len(self.owners))
        held = [len(asked & pairs(text)) / len(asked) for text in self.candidates.texts]
        return np.array(held)

    @cached_property
    def asked(self) -> NDArray[np.float64]:
        """1 for a unit with a thing of the kind that the query asks for, -1 for one without."""
        query = self.candidates.query
        kind = asks_for(query)
        if not kind:
            return np.zeros(len(self.owners))
        held = np.array([holds(text, kind, query) for text in self.candidates.texts])
        return np.where(held, 1.0, -1.0)

    @cached_property
    def title_in_query(self) -> NDArray[np.float64]:
        """Share of the title's terms that the query holds."""
        shares = [len(t.keys() & self.query.keys()) / max(len(t), 1) for t in self.titles]
        return np.array(shares)[self.owners]

    @cached_property
    def length(self) -> NDArray[np.float64]:
        """Log length in characters, standardised."""
        return standardise(np.log([max(len(text), 1) for text in self.candidates.texts]))

    @cached_property
    def first(self) -> NDArray[np.float64]:
        """1 for the first unit of each passage."""
        return (np.diff(self.owners, prepend=-1) > 0).astype(np.float64)

    @cached_property
    def place(self) -> NDArray[np.float64]:
        """Log number of the unit within its passage, from 1."""
        index = np.arange(len(self.owners)) - self.candidates.firsts[self.owners]
        placed: NDArray[np.float64] = np.log1p(index.astype(np.float64))
        return placed


def pairs(text: str) -> set[tuple[str, str]]:
    """Neighbouring terms of a text."""
    return set(pairwise(terms(text)))
