"""Most relevant first."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Orderer, Scores


class ByScore(Orderer):
    """Sorts passages by their score, highest first."""

    name = "score"

    def order(self, candidates: Candidates, scores: Scores) -> list[int]:
        """See `Orderer.order`."""
        ranked: list[int] = np.argsort(-scores.passages, kind="stable").tolist()
        return ranked
