"""The seam of this package: a scorer turns candidates into calibrated relevance.

Selection, budget and rendering never know which scorer ran.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.registry import Registry


class Scorer(ABC):
    """Says how relevant each unit is to the query.

    Attributes:
        name: The name it is registered and reported under.
        reads: Whether it wakes the proxy.
        reads_itself: Whether it reads in its own way while it scores, with no use for the reading
            of the query that all others share.
    """

    name: ClassVar[str]
    reads: ClassVar[bool] = True
    reads_itself: bool = False

    @abstractmethod
    def score(self, candidates: Candidates) -> Scores:
        """Calibrated relevance of every unit and passage; the same for the same candidates."""


SCORERS: Registry[Scorer] = Registry(
    "scorer",
    "foveate.scorers",
    {
        "attention-rag": "foveate.compressors.attention_rag:AttentionRAG",
        "cafe": "foveate.compressors.cafe:Cafe",
        "embedding": "foveate.compressors.embedding:Embedding",
        "fused": "foveate.compressors.fused:Fused",
        "one-hop": "foveate.compressors.one_hop:OneHop",
        "lexical": "foveate.compressors.lexical:Lexical",
        "qr-heads": "foveate.compressors.qr_heads:QRHeads",
        "random": "foveate.compressors.random:Random",
        "reattn": "foveate.compressors.reattn:ReAttn",
        "retrieval-heads": "foveate.compressors.retrieval_heads:RetrievalHeads",
        "sentinel": "foveate.compressors.sentinel:Sentinel",
        "sliding": "foveate.compressors.sliding:Sliding",
        "token-level": "foveate.compressors.token_level:TokenLevel",
    },
)

__all__ = ["SCORERS", "Candidates", "Scorer", "Scores"]
