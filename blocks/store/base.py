"""The seam for keeping blocks: get many, put many, and forget under pressure.

A store may lose anything at any time; a block that is not there is encoded again. It never gives a
block under a key it was not put under.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..block import Block


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds and how it served since it was made.

    Attributes:
        blocks: Blocks held now.
        nbytes: Bytes held now.
        max_bytes: Bytes it may hold.
        hits: Blocks that were asked for and there.
        misses: Blocks that were asked for and not there.
        evictions: Blocks forgotten to make room.
    """

    blocks: int
    nbytes: int
    max_bytes: int
    hits: int
    misses: int
    evictions: int


class BlockStore(ABC):
    """Keeps immutable blocks by their content address. Safe to use from many threads."""

    @abstractmethod
    def get_many(self, keys: Sequence[str]) -> list[Block | None]:
        """The block under each key, or None; asking marks a block as recently used."""

    @abstractmethod
    def put_many(self, blocks: Iterable[Block]) -> None:
        """Keep blocks; a block that cannot fit at all is quietly not kept."""

    @abstractmethod
    def stats(self) -> StoreStats:
        """What it holds and how it served."""

    @abstractmethod
    def clear(self) -> None:
        """Forget every block; counters go on."""
