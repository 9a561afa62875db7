"""Reading an index: each answer is of one commit, the last one when it was asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from foveate.blocks.errors import IndexCorruptError, StoreError

from ._catalog import Catalog
from ._derived import verify_part
from ._manifest import REPAIR, RESTORE, STORE
from ._seal import PartGoneError
from .base import Hit, ranked
from .dense import Clusters, FlatVectors, best
from .lexical import LexicalSearcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from foveate.blocks.passage import Passage

    from ._state import ClusterPart, LexicalPart, State

T = TypeVar("T")


class Reader:
    """What retrievers see of an index folder. Thread-safe; other processes may write meanwhile.

    Args:
        folder: The index folder.

    Raises:
        IndexCorruptError: The passage store is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._catalog: Catalog | None = Catalog(folder / STORE)
        self._lexical: tuple[LexicalPart, LexicalSearcher] | None = None
        self._clusters: tuple[ClusterPart, Clusters] | None = None
        self._flat: tuple[int, int, FlatVectors] | None = None
        try:
            self._catalog.check()
        except BaseException:
            self.close()
            raise

    def by_words(self, query: str, k: int) -> list[Hit]:
        """The best `k` passages by BM25."""

        def answer(catalog: Catalog, state: State) -> list[Hit]:
            if not state.lexical or not state.count:
                return []
            searcher = self._searcher(state.lexical)
            return _hits(catalog, searcher.search(query, min(k, state.count)))

        return self._read(answer)

    def by_vector(self, vector: NDArray[np.float32], k: int) -> list[Hit]:
        """The best `k` passages by cosine with a vector, shape (dim,)."""

        def answer(catalog: Catalog, state: State) -> list[Hit]:
            found = self._flat_of(catalog, state, len(vector)).search(vector, k)
            if state.clusters:
                clusters = self._clusters_of(state.clusters)
                suggested = clusters.suggest(vector, min(k, state.count))
                keys, vectors = catalog.vectors(suggested)
                found += zip(keys.tolist(), (vectors @ vector).tolist(), strict=True)
            return _hits(catalog, best(found, k))

        return self._read(answer)

    def find(self, passage_id: str) -> Passage | None:
        """The passage of that id."""
        return self._read(lambda catalog, _: catalog.find(passage_id))

    def state(self) -> State:
        """The last commit."""
        return self._read(lambda _, state: state)

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            if self._catalog:
                self._catalog.close()
            self._catalog = self._lexical = self._clusters = self._flat = None

    def _read(self, answer: Callable[[Catalog, State], T]) -> T:
        gone_at = -1
        while True:
            with self._lock:
                if self._catalog is None:
                    raise StoreError(f"the index {self._folder} is closed; open it again")
                with self._catalog.reading() as state:
                    try:
                        return answer(self._catalog, state)
                    except PartGoneError as gone:
                        # Swept by a later commit, and then that one is read; or lost.
                        if state.generation == gone_at:
                            raise IndexCorruptError(f"{gone.path} is missing. {REPAIR}") from gone
                        gone_at = state.generation

    def _searcher(self, part: LexicalPart) -> LexicalSearcher:
        if not self._lexical or self._lexical[0] != part:
            verify_part(self._folder, part)
            self._lexical = part, LexicalSearcher(self._folder / part.folder)
        return self._lexical[1]

    def _clusters_of(self, part: ClusterPart) -> Clusters:
        if not self._clusters or self._clusters[0].file != part.file:
            verify_part(self._folder, part)
            self._clusters = part, Clusters(self._folder / part.file)
        return self._clusters[1]

    def _flat_of(self, catalog: Catalog, state: State, dim: int) -> FlatVectors:
        above = state.clusters.top_key if state.clusters else 0
        if not self._flat or self._flat[1] != above:
            self._flat = -1, above, FlatVectors(dim)
        generation, _, flat = self._flat
        if generation != state.generation:
            self._flat = None  # unless all goes well
            _catch_up(flat, catalog, catalog.keys_above(above))
            self._check_count(state, len(flat.keys))
            self._flat = state.generation, above, flat
        return flat

    def _check_count(self, state: State, flat: int) -> None:
        expected = state.count - (state.clusters.live if state.clusters else 0)
        if flat != expected:
            raise IndexCorruptError(
                f"{self._folder / STORE} is damaged ({flat} vectors, not {expected}). {RESTORE}"
            )


def _catch_up(flat: FlatVectors, catalog: Catalog, live: set[int]) -> None:
    flat.remove(flat.keys - live)
    flat.add(*catalog.vectors(sorted(live - flat.keys)))


def _hits(catalog: Catalog, found: list[tuple[int, float]]) -> list[Hit]:
    passages = catalog.passages([key for key, _ in found])
    return ranked(zip(passages, (score for _, score in found), strict=True))
