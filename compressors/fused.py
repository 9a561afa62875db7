"""The default: attention of the proxy's reading, BM25, and where a unit stands, weighed together.

Attention sees what a unit means, BM25 what it says; each finds evidence that the other misses. For
the second hop of a question there are likeness to a top unit in words that the query lacks, titles
that a top unit names, and a second reading that is shown the best units of the first.
"""

from __future__ import annotations

from .base import Candidates, Scorer, Scores
from .features import Features
from .judged import judge


class Fused(Scorer):
    """A logistic regression over named features, fitted per model.

    Needs the probed heads of the proxy; a second reading costs the rows of its query alone.
    """

    name = "fused"

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        return judge(candidates, self.name, Features(candidates))
