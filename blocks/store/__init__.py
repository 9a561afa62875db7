"""Where blocks are kept between requests."""

from .base import BlockStore, StoreStats
from .memory import MemoryStore

__all__ = ["BlockStore", "MemoryStore", "StoreStats"]
