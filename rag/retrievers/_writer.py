"""Changing an index: all of it or none, and nothing is seen before it is whole.

SQLite's write lock is the writer's lock. Everything derived is written under new names; the commit
of the passage store makes them count, and only then are the old ones swept. What a crash leaves
behind bears a name that no commit knows; the next writer sweeps it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sized
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Self

from foveate.blocks.progress import silent

from ._catalog import translated
from ._catalog_writer import CatalogWriter
from ._derived import check_part, cluster, clusters_are_stale, discard, lexical_name, names, sweep
from ._manifest import STORE
from ._rows import Row, to_rows
from .lexical import LexicalWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from foveate.blocks.passage import Passage
    from foveate.blocks.progress import Progress

    Embed = Callable[[Sequence[str], Progress], NDArray[np.float32]]

_BATCH_ROWS = 512


@dataclass(frozen=True, slots=True)
class Change:
    """What adding passages did.

    Attributes:
        added: Passages of new ids.
        replaced: Passages whose id was there, with other content.
        unchanged: Passages that were there as they are; they cost no embedding.
        removed: Stored passages of the same documents that were not among those given.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0


class Writer:
    """One change of an index, from taking the write lock to `commit`; without it, nothing changes.

    Args:
        folder: The index folder.
        embed: Embeds texts, shape (n, dim), vectors of length 1; None for an index without vectors.
        progress: Called as it goes on.

    Raises:
        StoreError: Someone else is writing.
        IndexCorruptError: A file is damaged.
    """

    def __init__(
        self, folder: Path, *, embed: Embed | None = None, progress: Progress | None = None
    ) -> None:
        self._folder = folder
        self._embed = embed
        self._progress = progress or silent
        self._lexical: LexicalWriter | None = None
        self._catalog = CatalogWriter(folder / STORE)
        try:
            with translated(self._catalog.path):
                self._state = self._before = self._catalog.state()
            sweep(folder, self._before)
        except BaseException:
            self._catalog.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lexical = None
        try:
            if self._catalog.is_writing:
                sweep(self._folder, self._before)
            else:
                # Committed, and no longer alone: what the next writer makes is not ours to sweep.
                with translated(self._catalog.path):
                    discard(self._folder, names(self._before) - names(self._catalog.state()))
        finally:
            self._catalog.close()

    def add(self, passages: Iterable[Passage], *, whole_documents: bool = False) -> Change:
        """Take up passages; see `Index.add`."""
        total = len(passages) if isinstance(passages, Sized) else None
        rows = to_rows(passages)
        ids: defaultdict[str, set[str]] = defaultdict(set)
        added = replaced = done = 0
        while batch := list(islice(rows, _BATCH_ROWS)):
            new, changed = self._add_batch(
                list({row.id: row for row in batch}.values()), done, total
            )
            added, replaced, done = added + new, replaced + changed, done + len(batch)
            for row in batch:
                ids[row.document].add(row.id)
            self._progress("index", done, total)
        removed = self._drop_stale(ids) if whole_documents else 0
        return Change(added, replaced, done - added - replaced, removed)

    def remove(self, ids: Iterable[str], documents: Iterable[str]) -> int:
        """Drop passages by id and by document; gives how many there were."""
        keys = {key for key, _ in self._catalog.known(list(dict.fromkeys(ids))).values()}
        for document in documents:
            keys.update(self._catalog.of_document(document).values())
        self._drop(sorted(keys))
        return len(keys)

    def commit(self) -> None:
        """Make the change take effect, if there is one."""
        if self._lexical is None:
            return
        self._progress("commit", 0, 1)
        state = replace(
            self._state, generation=self._before.generation + 1, lexical=self._lexical.finish()
        )
        if self._embed and clusters_are_stale(state):
            self._progress("cluster", 0, 1)
            with translated(self._catalog.path):
                state = replace(state, clusters=cluster(self._folder, self._catalog, state))
        self._catalog.commit(state)
        self._progress("commit", 1, 1)

    def _add_batch(self, batch: list[Row], done: int, total: int | None) -> tuple[int, int]:
        known = self._catalog.known([row.id for row in batch])
        fresh = [row for row in batch if row.id not in known or known[row.id][1] != row.digest]
        if not fresh:
            return 0, 0
        vectors = self._vectors(fresh, done, total)
        stale = [known[row.id][0] for row in fresh if row.id in known]
        self._drop(stale)
        lexical = self._lexical_writer()
        for row, vector in zip(fresh, vectors, strict=True):
            lexical.add(self._catalog.insert(row, vector), row.title, row.text)
        self._state = replace(self._state, count=self._state.count + len(fresh))
        return len(fresh) - len(stale), len(stale)

    def _vectors(
        self, rows: list[Row], done: int, total: int | None
    ) -> Iterable[NDArray[np.float32] | None]:
        if self._embed is None:
            return [None] * len(rows)
        report = self._progress
        return self._embed(
            [row.for_embedding for row in rows],
            lambda stage, step, _total: report(stage, done + step, total),
        )

    def _drop_stale(self, ids: dict[str, set[str]]) -> int:
        stale = [
            key
            for document, given in ids.items()
            if document
            for name, key in self._catalog.of_document(document).items()
            if name not in given
        ]
        self._drop(stale)
        return len(stale)

    def _drop(self, keys: Sequence[int]) -> None:
        if not keys:
            return
        lexical = self._lexical_writer()
        self._catalog.remove(keys)
        for key in keys:
            lexical.remove(key)
        clusters = self._state.clusters
        if clusters:
            dead = sum(key <= clusters.top_key for key in keys)
            clusters = replace(clusters, dead=clusters.dead + dead)
        self._state = replace(self._state, count=self._state.count - len(keys), clusters=clusters)

    def _lexical_writer(self) -> LexicalWriter:
        if self._lexical is None:
            previous = self._before.lexical
            if previous:
                check_part(self._folder, previous)
            name = lexical_name(self._before.generation + 1)
            self._lexical = LexicalWriter(self._folder / name, previous)
        return self._lexical
