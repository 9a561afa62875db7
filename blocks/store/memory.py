"""Blocks in memory: least recently used go first, bounded in bytes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from cachetools import LRUCache

from .base import BlockStore, StoreStats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..block import Block

DEFAULT_MAX_BYTES = 2 << 30


class MemoryStore(BlockStore):
    """An LRU store in this process.

    Args:
        max_bytes: Bytes that the blocks may take together; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._cache = _CountingLRU(max_bytes)
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def get_many(self, keys: Sequence[str]) -> list[Block | None]:
        """See `BlockStore.get_many`."""
        with self._lock:
            found = [self._cache.get(key) for key in keys]
            hits = sum(block is not None for block in found)
            self._hits += hits
            self._misses += len(found) - hits
        return found

    def put_many(self, blocks: Iterable[Block]) -> None:
        """See `BlockStore.put_many`."""
        with self._lock:
            for block in blocks:
                if block.nbytes <= self._cache.maxsize:
                    self._cache[block.key] = block

    def stats(self) -> StoreStats:
        """See `BlockStore.stats`."""
        with self._lock:
            return StoreStats(
                blocks=len(self._cache),
                nbytes=int(self._cache.currsize),
                max_bytes=int(self._cache.maxsize),
                hits=self._hits,
                misses=self._misses,
                evictions=self._cache.evictions,
            )

    def clear(self) -> None:
        """See `BlockStore.clear`."""
        with self._lock:
            self._cache.clear()


class _CountingLRU(LRUCache[str, "Block"]):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes, getsizeof=lambda block: block.nbytes)
        self.evictions = 0

    def popitem(self) -> tuple[str, Block]:
        # cachetools calls this to make room, and only then.
        self.evictions += 1
        return super().popitem()
