from __future__ import annotations

import threading

import numpy as np
import torch

from foveate.blocks.block import Block
from foveate.blocks.store import MemoryStore


def block(key: str, tokens: int = 10) -> Block:
    return Block(
        key=key,
        ids=np.zeros(tokens, dtype=np.int64),
        slots=np.zeros(tokens, dtype=np.int64),
        keys=torch.zeros(2, 1, tokens, 8),
        values=torch.zeros(1, 1, tokens, 8),
        baseline=np.zeros((2, 3), dtype=np.float32),
    )


SIZE = block("x").nbytes


def test_it_gives_what_was_put_and_none_for_the_rest() -> None:
    store = MemoryStore()
    a = block("a")
    store.put_many([a])
    assert store.get_many(["a", "b"]) == [a, None]
    assert (store.stats().hits, store.stats().misses) == (1, 1)


def test_it_never_holds_more_bytes_than_it_may() -> None:
    store = MemoryStore(3 * SIZE)
    store.put_many(block(str(n)) for n in range(10))
    stats = store.stats()
    assert stats.nbytes <= 3 * SIZE
    assert (stats.blocks, stats.evictions) == (3, 7)


def test_the_least_recently_used_goes_first() -> None:
    store = MemoryStore(2 * SIZE)
    store.put_many([block("old"), block("new")])
    store.get_many(["old"])
    store.put_many([block("third")])
    assert [b is not None for b in store.get_many(["old", "new", "third"])] == [True, False, True]


def test_a_block_larger_than_the_store_pushes_nothing_out() -> None:
    store = MemoryStore(2 * SIZE)
    store.put_many([block("small"), block("huge", tokens=100)])
    assert store.get_many(["small"])[0] is not None
    assert store.get_many(["huge"]) == [None]


def test_zero_bytes_keep_nothing() -> None:
    store = MemoryStore(0)
    store.put_many([block("a")])
    assert store.get_many(["a"]) == [None]


def test_it_stays_within_bounds_under_many_writers() -> None:
    store = MemoryStore(5 * SIZE)

    def write(n: int) -> None:
        for i in range(50):
            store.put_many([block(f"{n}-{i}")])
            store.get_many([f"{n}-{i}"])

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.stats().nbytes <= 5 * SIZE
    assert store.stats().hits + store.stats().misses == 200


def test_clear_forgets_everything() -> None:
    store = MemoryStore()
    store.put_many([block("a")])
    store.clear()
    assert store.stats().blocks == store.stats().nbytes == 0
