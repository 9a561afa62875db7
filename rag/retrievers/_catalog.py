"""The passage store: a SQLite file of passages, their vectors, and the state of the last commit.

It is the source of truth. The lexical index and the clusters are made from it, named by it, and
take effect with its commits, so that a crash at any moment leaves the last commit as it was.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from foveate.blocks.errors import FoveateError, IndexCorruptError, StoreError
from foveate.blocks.passage import Passage

from ._manifest import RESTORE
from ._seal import row_digest
from ._state import State, parse_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, digest BLOB NOT NULL);
CREATE TABLE passages (
    -- AUTOINCREMENT: a key never comes back, so that derived data can tell old rows from new ones.
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX passages_of_document ON passages (document);
CREATE TABLE vectors (key INTEGER PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL);
"""
_BUSY_S = 10.0  # how long a reader waits for SQLite's own short locks
_IN_ONE_QUERY = 500  # below the number of variables that any SQLite allows
_UNUSABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_NOMEM")


class Catalog:
    """A connection to a passage store. Not thread-safe; every row is checked as it is read.

    Args:
        path: The SQLite file.

    Raises:
        IndexCorruptError: The file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with translated(path):
            self._connection = _connect(path)

    def check(self) -> None:
        """Check the structure of the whole file: about 0.2 s for 50,000 passages with vectors.

        Raises:
            IndexCorruptError: It is damaged.
        """
        with translated(self.path):
            (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise IndexCorruptError(f"{self.path} is damaged ({found}). {RESTORE}")

    @contextmanager
    def reading(self) -> Iterator[State]:
        """Within it, everything read is of one commit; gives its state."""
        with translated(self.path):
            self._connection.execute("BEGIN")
            try:
                yield self.state()
            finally:
                self._connection.execute("ROLLBACK")

    def state(self) -> State:
        """The state of the last commit."""
        return parse_state(self.meta("state"))

    def meta(self, name: str) -> str:
        """A named record."""
        row = self._connection.execute(
            "SELECT name, value, digest FROM meta WHERE name = ?", (name,)
        ).fetchone()
        self._check(row is not None and _is_intact(row), f"record {name!r}")
        return str(row[1])

    def passages(self, keys: Sequence[int]) -> list[Passage]:
        """Passages in the order of their keys; a key without a passage is damage."""
        found: dict[int, Passage] = {}
        for some in in_parts(keys):
            rows = self._connection.execute(
                f"SELECT * FROM passages WHERE key IN ({marks(some)})", some
            )
            found.update((row[0], self._passage(row)) for row in rows)
        self._check(len(found) == len(set(keys)), "a passage is missing")
        return [found[key] for key in keys]

    def find(self, passage_id: str) -> Passage | None:
        """The passage of that id."""
        row = self._connection.execute(
            "SELECT * FROM passages WHERE id = ?", (passage_id,)
        ).fetchone()
        return self._passage(row) if row else None

    def walk(self) -> Iterator[tuple[int, Passage]]:
        """Every passage, by key."""
        for row in self._connection.execute("SELECT * FROM passages ORDER BY key"):
            yield row[0], self._passage(row)

    def keys_above(self, key: int) -> set[int]:
        """Keys higher than `key`."""
        rows = self._connection.execute("SELECT key FROM passages WHERE key > ?", (key,))
        return {found for (found,) in rows}

    def vectors(self, keys: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Vectors of those of the keys that there are, and their keys."""
        rows: list[tuple[int, bytes, int]] = []
        for some in in_parts(keys):
            rows += self._connection.execute(
                f"SELECT * FROM vectors WHERE key IN ({marks(some)})", some
            )
        return self._vectors(rows)

    def walk_vectors(self, block: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Every vector, by key, at most `block` rows at a time."""
        rows = self._connection.execute("SELECT * FROM vectors ORDER BY key")
        while some := rows.fetchmany(block):
            yield self._vectors(some)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _passage(self, row: tuple[int, str, str, str, str, str, bytes]) -> Passage:
        key, passage_id, _document, title, text, metadata, _digest = row
        self._check(_is_intact(row[1:]), f"passage {key}")
        return Passage(text, passage_id, title, json.loads(metadata))

    def _vectors(
        self, rows: Sequence[tuple[int, bytes, int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        keys = np.array([key for key, _, _ in rows], dtype=np.int64)
        shapes = {(type(data), len(data), type(checksum)) for _, data, checksum in rows}
        self._check(len(shapes) <= 1, "vectors differ in shape")
        words = np.frombuffer(b"".join(data for _, data, _ in rows), dtype="<u4")
        words = words.reshape(len(rows), -1) if rows else words.reshape(0, 0)
        expected = np.array([checksum for _, _, checksum in rows], dtype=np.int64)
        self._check(np.array_equal(checksums(keys, words), expected), "vectors are altered")
        return keys, words.view("<f4").astype(np.float32)

    def _check(self, intact: bool, what: str) -> None:
        if not intact:
            raise IndexCorruptError(f"{self.path} is damaged ({what}). {RESTORE}")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what SQLite finds wrong as one of Foveate's errors."""
    try:
        yield
    # Damaged names in the schema reach even the messages of SQLite, and Python cannot decode them.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _translate(error, path) from error


def create_store(path: Path, manifest: str) -> None:
    """Write an empty passage store."""
    connection = _connect(path, mode="rwc")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(f"BEGIN; {_SCHEMA}")
    for name, value in (("manifest", manifest), ("state", State().to_json())):
        connection.execute(
            "INSERT INTO meta VALUES (?, ?, ?)", (name, value, row_digest((name, value)))
        )
    connection.execute("COMMIT")
    connection.close()


def in_parts(values: Sequence[T]) -> Iterable[Sequence[T]]:
    """Values in slices that fit into one SQL statement."""
    return (values[start : start + _IN_ONE_QUERY] for start in range(0, len(values), _IN_ONE_QUERY))


def marks(values: Sequence[object]) -> str:
    """As many question marks as values, for SQL."""
    return ",".join("?" * len(values))


def checksums(keys: NDArray[np.int64], words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """A checksum for each row of a matrix; any flipped bit changes it.

    Args:
        keys: Shape (n,).
        words: The rows of float32 seen as integers, shape (n, dim).
    """
    sums: NDArray[np.int64] = words.sum(axis=1, dtype=np.int64) + keys
    return sums


def _connect(path: Path, *, mode: str = "rw") -> sqlite3.Connection:
    # On a read-only disk SQLite cannot make the files it coordinates by, and nobody can write
    # either.
    if not os.access(path.parent, os.W_OK):
        mode = "ro&immutable=1"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )


def _translate(error: Exception, path: Path) -> FoveateError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            f"{path.parent} is being written by someone else; one writer at a time: try again "
            "when it is done"
        )
    if name.startswith(_UNUSABLE):
        return StoreError(f"{path} cannot be used: {error}; check the disk and the permissions")
    return IndexCorruptError(f"{path} is damaged ({error}). {RESTORE}")


def _is_intact(row: Sequence[str | bytes]) -> bool:
    *fields, expected = row
    # Damage can turn a text into a number, a blob or nothing at all.
    texts = [field for field in fields if isinstance(field, str)]
    return len(texts) == len(fields) and row_digest(texts) == expected
