"""The default: attention of the proxy's reading, BM25, and where a unit stands, weighed together.

Attention sees what a unit means, BM25 what it says; each finds evidence that the other misses. Two
features reach for the second hop of a question: likeness to a top unit in words that the query
lacks, and titles that a top unit names.
"""

from __future__ import annotations

from .base import Candidates, Scorer, Scores
from .features import Features
from .judged import judge


class Fused(Scorer):
    """A logistic regression over a dozen named features, fitted per model."""

    name = "fused"

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        return judge(candidates, self.name, Features(candidates))
