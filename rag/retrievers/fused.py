"""Reciprocal rank fusion of any retrievers.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods" (SIGIR 2009): score(d) = sum over rankings of 1 / (k + rank(d)), k = 60. It needs
no scores, so that BM25 and cosine need no common scale.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError

from .base import Hit, check_request, ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.blocks.passage import Passage

    from .base import Retriever

RRF_K = 60
"""The constant of the paper; larger, and the first ranks weigh less."""

DEPTH = 100
"""Hits taken from each retriever, at least; fusion needs to see below the cut."""


class FusedRetriever:
    """Asks several retrievers and ranks what they find by the reciprocal ranks they gave it.

    Args:
        retrievers: One or more. Passages are the same when their ids are, or, without ids, their
            texts.
        rrf_k: The constant k of the formula.
        depth: Hits to take from each retriever.
    """

    def __init__(
        self, retrievers: Sequence[Retriever], *, rrf_k: int = RRF_K, depth: int = DEPTH
    ) -> None:
        if not retrievers:
            raise InputError("no retrievers to fuse; give at least one")
        if rrf_k < 0 or depth < 1:
            raise InputError(f"rrf_k is {rrf_k}, depth is {depth}; give rrf_k >= 0 and depth >= 1")
        self._retrievers = tuple(retrievers)
        self._rrf_k = rrf_k
        self._depth = depth

    def retrieve(self, query: str, k: int = 10) -> list[Hit]:
        """See `Retriever.retrieve`."""
        query = check_request(query, k)
        depth = max(k, self._depth)
        answers = [retriever.retrieve(query, depth) for retriever in self._retrievers]
        return ranked(fuse(answers, rrf_k=self._rrf_k)[:k])


def fuse(answers: Sequence[Sequence[Hit]], *, rrf_k: int = RRF_K) -> list[tuple[Passage, float]]:
    """Passages with their fused scores, best first; ties stay in the order of first sight."""
    scores: defaultdict[str, float] = defaultdict(float)
    passages: dict[str, Passage] = {}
    for answer in answers:
        for hit in answer:
            name = hit.passage.id or hit.passage.text
            passages.setdefault(name, hit.passage)
            scores[name] += 1.0 / (rrf_k + hit.rank)
    best_first = sorted(scores, key=lambda name: -scores[name])
    return [(passages[name], scores[name]) for name in best_first]
