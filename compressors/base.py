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
    """

    name: ClassVar[str]
    reads: ClassVar[bool] = True

    @abstractmethod
    def score(self, candidates: Candidates) -> Scores:
        """Calibrated relevance of every unit and passage; the same for the same candidates."""


SCORERS: Registry[Scorer] = Registry(
    "scorer",
    "foveate.scorers",
    {
        "fused": "foveate.compressors.fused:Fused",
        "lexical": "foveate.compressors.lexical:Lexical",
        "retrieval-heads": "foveate.compressors.retrieval_heads:RetrievalHeads",
        "random": "foveate.compressors.random:Random",
    },
)

__all__ = ["SCORERS", "Candidates", "Scorer", "Scores"]
