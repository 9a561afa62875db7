"""Writing to the passage store: one transaction, from the start to `commit`."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ._catalog import Catalog, checksums, in_parts, marks, translated
from ._seal import row_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ._rows import Row
    from ._state import State

_BUSY_MS = 1000  # SQLite's own short locks pass; another writer is told of


class CatalogWriter(Catalog):
    """A connection that holds the one right to write, until it commits or closes.

    Raises:
        StoreError: Someone else is writing.
        IndexCorruptError: The file is damaged.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with translated(path):
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
                self._connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self.close()
            raise

    @property
    def is_writing(self) -> bool:
        """Whether the transaction is still open."""
        return self._connection.in_transaction

    def known(self, ids: Sequence[str]) -> dict[str, tuple[int, bytes]]:
        """Key and digest of each of the ids that is there."""
        with translated(self.path):
            found: dict[str, tuple[int, bytes]] = {}
            for some in in_parts(ids):
                rows = self._connection.execute(
                    f"SELECT id, key, digest FROM passages WHERE id IN ({marks(some)})", some
                )
                found.update((name, (key, digest)) for name, key, digest in rows)
            return found

    def of_document(self, document: str) -> dict[str, int]:
        """Ids and keys of the passages of a document."""
        with translated(self.path):
            rows = self._connection.execute(
                "SELECT id, key FROM passages WHERE document = ?", (document,)
            )
            return dict(rows.fetchall())

    def insert(self, row: Row, vector: NDArray[np.float32] | None) -> int:
        """Store a passage and its vector; gives its key."""
        with translated(self.path):
            key = self._connection.execute(
                "INSERT INTO passages VALUES (NULL, ?, ?, ?, ?, ?, ?)", (*row.fields, row.digest)
            ).lastrowid
            assert key is not None
            if vector is not None:
                words = np.ascontiguousarray(vector, dtype="<f4").view("<u4")[None]
                checksum = int(checksums(np.array([key]), words)[0])
                self._connection.execute(
                    "INSERT INTO vectors VALUES (?, ?, ?)", (key, words.tobytes(), checksum)
                )
            return key

    def remove(self, keys: Sequence[int]) -> None:
        """Drop passages and their vectors."""
        with translated(self.path):
            for some in in_parts(keys):
                for table in ("passages", "vectors"):
                    self._connection.execute(
                        f"DELETE FROM {table} WHERE key IN ({marks(some)})", some
                    )

    def commit(self, state: State) -> None:
        """Make it all take effect, with the state that belongs to it."""
        with translated(self.path):
            value = state.to_json()
            self._connection.execute(
                "UPDATE meta SET value = ?, digest = ? WHERE name = 'state'",
                (value, row_digest(("state", value))),
            )
            self._connection.execute("COMMIT")
            # It is done. Fold the log into the file; where that cannot be, a later commit does it.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
