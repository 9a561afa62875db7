"""The seam of this package: an orderer says where each passage stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.registry import Registry


class Orderer(ABC):
    """Gives a permutation of the passages.

    Attributes:
        name: The name it is registered and reported under.
        reads: Whether it wakes the proxy.
    """

    name: ClassVar[str]
    reads: ClassVar[bool] = False

    @abstractmethod
    def order(self, candidates: Candidates, scores: Scores) -> list[int]:
        """Indices of all passages, first to last. Ties keep the caller's order."""


ORDERERS: Registry[Orderer] = Registry(
    "orderer",
    "foveate.orderers",
    {
        "original": "foveate.reorder.original:Original",
        "score": "foveate.reorder.score:ByScore",
        "ends-first": "foveate.reorder.ends_first:EndsFirst",
        "attention-sorting": "foveate.reorder.attention_sorting:AttentionSorting",
    },
)

__all__ = ["ORDERERS", "Candidates", "Orderer", "Scores"]
