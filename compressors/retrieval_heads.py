"""Relevance read off a few attention heads; the model itself is not trained.

A few percent of a model's heads look from the question to the evidence, in every model measured:
Wu et al., "Retrieval Head Mechanistically Explains Long-Context Factuality",
https://arxiv.org/abs/2404.15574; Zhang et al., "Query-Focused Retrieval Heads",
https://arxiv.org/abs/2506.09944, section 3. The heads are chosen once per model on a small
calibration set; the proxy then probes only those. The attention of all query rows on a unit's
tokens is summed, its logarithm standardised for each head, and averaged over heads.
"""

from __future__ import annotations

from .base import Candidates, Scorer, Scores
from .features import Features
from .judged import judge


class RetrievalHeads(Scorer):
    """Attention alone, as a probability.

    Args:
        reattn: Weigh the attention again first; see `reattn`.
    """

    name = "retrieval-heads"

    def __init__(self, *, reattn: bool = False) -> None:
        self.reattn = reattn
        self.reads_itself = reattn  # it needs the attention on each token

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        if self.reattn:
            from .reattn import reweighed

            candidates = candidates.with_reading(reweighed(candidates))
        return judge(candidates, "retrieval-heads", Features(candidates))
