"""Cosine similarity of embeddings, by FAISS.

Up to `FLAT_LIMIT` vectors are compared one by one (IndexFlatIP in an IndexIDMap2, which can
delete): exact, nothing to train, about 1 ms per 10,000 vectors. Beyond that they are clustered (IVF
with 8-bit codes: 5 s to train on 200,000 vectors where HNSW takes 158 s to build, a quarter of its
memory, and rows that can die), while newer vectors stay flat until there are `FLAT_LIMIT` of them
again. What the clusters suggest is compared anew with the exact vectors, so that every score is an
exact cosine.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.errors import MissingExtraError

from .base import Hit, check_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ._reader import Reader

FLAT_LIMIT = 50_000
DEAD_LIMIT = 0.25  # share of dead rows in the clusters from which they are made anew

_PROBED = 1 / 16  # share of the clusters that a query looks into
_MIN_PROBES = 16
_SUGGESTED = 4  # candidates to compare exactly, for each hit wanted
_TRAIN_PER_CLUSTER = 64  # FAISS wants 39 to 256


class DenseRetriever:
    """Finds passages by meaning: cosine of the embeddings of query and passage.

    Args:
        reader: The index.
        embed: Embeds a query; gives a vector of length 1, shape (dim,).
    """

    def __init__(self, reader: Reader, embed: Callable[[str], NDArray[np.float32]]) -> None:
        self._reader = reader
        self._embed = embed

    def retrieve(self, query: str, k: int = 10) -> list[Hit]:
        """See `Retriever.retrieve`."""
        return self._reader.by_vector(self._embed(check_request(query, k)), k)


class FlatVectors:
    """Vectors in memory, compared one by one.

    Args:
        dim: Their length.
    """

    def __init__(self, dim: int) -> None:
        faiss = import_faiss()
        self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(dim))
        self.keys: set[int] = set()

    def add(self, keys: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Take up vectors, shape (n, dim)."""
        if len(keys):
            self._index.add_with_ids(vectors, keys)
            self.keys.update(keys.tolist())

    def remove(self, keys: set[int]) -> None:
        """Forget vectors."""
        if keys:
            self._index.remove_ids(np.array(sorted(keys), dtype=np.int64))
            self.keys -= keys

    def search(self, vector: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        """Keys and inner products of the best `k`."""
        k = min(k, len(self.keys))
        if not k:
            return []
        with one_thread():
            scores, keys = self._index.search(vector[None], k)
        return list(zip(keys[0].tolist(), scores[0].tolist(), strict=True))


class Clusters:
    """Clustered vectors, read from a file.

    Args:
        path: What `write_clusters` wrote.
    """

    def __init__(self, path: Path) -> None:
        self._index = import_faiss().read_index(str(path))
        self._index.nprobe = max(_MIN_PROBES, math.ceil(self._index.nlist * _PROBED))

    def suggest(self, vector: NDArray[np.float32], k: int) -> list[int]:
        """Keys among which the best `k` should be; some may be dead by now."""
        with one_thread():
            _, keys = self._index.search(vector[None], min(_SUGGESTED * k, self._index.ntotal))
        return [key for key in keys[0].tolist() if key >= 0]


def write_clusters(
    path: Path,
    sample: NDArray[np.float32],
    blocks: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]],
    *,
    nlist: int,
) -> int:
    """Cluster vectors into a file; gives how many they were.

    Args:
        path: Where to.
        sample: Vectors to find the clusters by, shape (n, dim).
        blocks: Keys and vectors, all there are.
        nlist: Number of clusters.
    """
    faiss = import_faiss()
    index = faiss.index_factory(sample.shape[1], f"IVF{nlist},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # few points are no reason to print a warning
    index.train(sample)
    for keys, vectors in blocks:
        index.add_with_ids(vectors, keys)
    faiss.write_index(index, str(path))
    return int(index.ntotal)


def cluster_count(rows: int) -> int:
    """4 sqrt(n), after the guidelines of FAISS."""
    return max(1, round(4 * math.sqrt(rows)))


def sample_size(nlist: int) -> int:
    """Vectors to find `nlist` clusters by."""
    return nlist * _TRAIN_PER_CLUSTER


def best(found: Iterable[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """The best `k` of some keys and scores, best first; equal scores by key."""
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS use one thread: ten times faster for one query on two cores, safe after a fork."""
    faiss = import_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def import_faiss() -> Any:
    """Import FAISS, or say which extra brings it."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("faiss", "retrieval") from error
    return faiss
