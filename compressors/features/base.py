"""What all features start from: the units, and their terms."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from foveate.compressors.lexical import terms, unit_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.compressors.base import Candidates


class Units:
    """The units of one query, with their terms.

    Args:
        candidates: The units.
    """

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.owners = candidates.owners

    @cached_property
    def query(self) -> dict[str, None]:
        """Terms of the query, each once."""
        # In the order of the query: sums of floats must not hang on the order of a set.
        return dict.fromkeys(terms(self.candidates.query))

    @cached_property
    def titles(self) -> list[Counter[str]]:
        """Terms of each passage's title."""
        return [Counter(terms(passage.title)) for passage in self.candidates.passages]

    @cached_property
    def documents(self) -> list[Counter[str]]:
        """Terms of each unit with its title's."""
        return unit_terms(self.candidates)

    @cached_property
    def words(self) -> list[frozenset[str]]:
        """Terms of each unit alone."""
        return [frozenset(terms(text)) for text in self.candidates.texts]

    def near(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean over the neighbours within the passage; 0, the mean of all, where there is none."""
        same = self.owners[1:] == self.owners[:-1]
        total, count = np.zeros(len(values)), np.zeros(len(values))
        total[1:] += np.where(same, values[:-1], 0.0)
        total[:-1] += np.where(same, values[1:], 0.0)
        count[1:] += same
        count[:-1] += same
        near: NDArray[np.float64] = total / np.maximum(count, 1)
        return near
