"""CAFE: coarse to fine. Heads rank passages and drop the worse ones; the rest is read again.

"CAFE: Retrieval Head-based Coarse-to-Fine Information Seeking to Enhance Multi-Document QA
Capability", EMNLP 2025: retrieval heads filter the documents, then attention is steered to the
evidence in those that stay. Here the second stage reads the query against the blocks of the
passages that stayed, alone: with D the passages and keep = ceil(share |D|),

    D' = top keep of D by S_d (see `qr_heads`),    score(u) = P(u | reading of D')  for u in D'

Without the distractors the softmax is shared among fewer keys, and the blocks are at hand, so that
the second stage costs query rows alone. Steering the generator's own attention is out of reach of
what hands it a text.
"""

from __future__ import annotations

import math

import numpy as np

from foveate.blocks.errors import InputError

from .base import Candidates, Scorer, Scores
from .qr_heads import QRHeads
from .retrieval_heads import RetrievalHeads

SHARE = 0.5
LEAST = 3
"""Passages that stay at least: questions of two hops need two."""


class Cafe(Scorer):
    """Two scorers in turn: one drops passages, one scores the units of the others.

    Args:
        share: Share of the passages that stay, in (0, 1].
        coarse: Ranks passages; `QRHeads` by default.
        fine: Scores the units of those that stay; `RetrievalHeads` by default.

    Raises:
        InputError: The share is none.
    """

    name = "cafe"
    reads_itself = True

    def __init__(
        self, *, share: float = SHARE, coarse: Scorer | None = None, fine: Scorer | None = None
    ) -> None:
        if not 0 < share <= 1:
            raise InputError(f"share {share!r} is not allowed; give one in (0, 1]")
        self.share = share
        self.coarse, self.fine = coarse or QRHeads(), fine or RetrievalHeads()

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`. What was dropped ranks behind all that stayed, by the first stage."""
        rough = self.coarse.score(candidates)
        staying = self.stays(rough)
        fine = self.fine.score(candidates.among(staying.tolist()))
        inside = np.isin(candidates.owners, staying)
        return Scores(
            _behind(rough.units, fine.units, inside),
            _behind(
                rough.passages,
                fine.passages,
                np.isin(np.arange(len(rough.passages)), staying),
            ),
            fine.nothing,
        )

    def stays(self, rough: Scores) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Indices of the passages that stay, ascending: the caller's order."""
        keep = max(math.ceil(self.share * len(rough.passages)), LEAST)
        best = np.argsort(-rough.passages, kind="stable")[:keep]
        return np.sort(best).astype(np.int64)


def _behind(
    rough: np.ndarray[tuple[int], np.dtype[np.float64]],
    fine: np.ndarray[tuple[int], np.dtype[np.float64]],
    inside: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Fine scores where there are any; elsewhere the rough ones, under the least of them."""
    out = rough * float(fine.min(initial=1.0)) * 0.5
    out[inside] = fine
    return out
