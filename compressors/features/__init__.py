"""What is known about each unit before a score is made of it: attention, words, place.

Each feature has one value a unit. Those called standardised have mean 0 and deviation 1 over the
candidates of one query, so that one set of weights serves long and short lists; the absolute ones
tell a query with an answer from one without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bridges import Bridges

if TYPE_CHECKING:
    from numpy.typing import NDArray

ATTENTION = ("attention", "share", "looked", "odds", "density", "peak", "last")
AROUND = ("title_attention", "passage_attention", "near_attention", "beside")
LEXICAL = ("bm25", "passage_bm25", "near_bm25", "coverage", "phrase", "asked")
PLACE = ("title_in_query", "length", "first", "place")
BRIDGES = ("bridge", "named", "names", "rank")
WHOLE = ("intensity", "over_baseline")
SECOND_HOP = ("hop_attention", "hop_share", "hop_looked", "hop_title")
FUSED = (*ATTENTION, *AROUND, *LEXICAL, *PLACE, *BRIDGES, *WHOLE)
"""The features of one reading, in the order its weights are printed."""

TWO_HOPS = (*FUSED, *SECOND_HOP)
"""Those of two readings."""


class Features(Bridges):
    """Features of one query's units, computed on first use.

    Args:
        candidates: The units; read by the proxy only if an attention feature is asked for, and a
            second time only for those of the second hop.
    """

    def matrix(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The named features side by side, shape (units, names)."""
        if not len(self.owners):
            return np.zeros((0, len(names)))
        columns: list[NDArray[np.float64]] = [getattr(self, name) for name in names]
        return np.stack(columns, axis=1)
