"""The default with a second reading, which is shown what the first one found.

For questions of two hops: what the second half asks for shares its words and its meaning with the
unit that answers the first. With a reader that was trained on such questions the first reading
finds both, so that the second is level with it at four times the cost; see `docs/methods.md`.
"""

from __future__ import annotations

from .base import Candidates, Scorer, Scores
from .features import Features
from .judged import judge


class TwoHops(Scorer):
    """As `fused`, with the features of the second reading as well; it costs its query's rows."""

    name = "two-hops"

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        return judge(candidates, self.name, Features(candidates))
