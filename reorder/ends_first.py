"""Most relevant at both ends, least relevant in the middle.

Generators use the beginning and the end of a long context best: Liu et al., "Lost in the Middle",
https://arxiv.org/abs/2307.03172, figure 1.
"""

from __future__ import annotations

from .base import Candidates, Orderer, Scores
from .score import ByScore


class EndsFirst(Orderer):
    """Deals the ranking to the two ends in turn: 1st, 3rd, 5th ... 6th, 4th, 2nd."""

    name = "ends-first"

    def order(self, candidates: Candidates, scores: Scores) -> list[int]:
        """See `Orderer.order`."""
        ranked = ByScore().order(candidates, scores)
        return ranked[::2] + ranked[1::2][::-1]
