"""The default without its second reading: the cheaper half, for questions of one hop."""

from __future__ import annotations

from .base import Candidates, Scorer, Scores
from .features import Features
from .judged import judge


class OneHop(Scorer):
    """`fused`, by the features of one reading alone."""

    name = "one-hop"

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        return judge(candidates, self.name, Features(candidates))
