"""The caller's own order."""

from __future__ import annotations

from .base import Candidates, Orderer, Scores


class Original(Orderer):
    """Leaves the passages where the retriever put them."""

    name = "original"

    def order(self, candidates: Candidates, scores: Scores) -> list[int]:
        """See `Orderer.order`."""
        return list(range(len(candidates.passages)))
