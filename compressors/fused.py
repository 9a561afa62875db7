"""The default: attention of the proxy's reading, BM25, and where a unit stands, weighed together.

Attention sees what a unit means, BM25 what it says; each finds evidence that the other misses. For
the second hop of a question there are likeness to a top unit in words that the query lacks, and
titles that a top unit names; `two_hops` reads a second time for it.
"""

from __future__ import annotations

from .base import Candidates, Scorer, Scores
from .features import Features
from .judged import judge


class Fused(Scorer):
    """Weights over named features of one reading, fitted per model."""

    name = "fused"

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        return judge(candidates, self.name, Features(candidates))
