"""Files sealed by size and digest: a bit that flipped is found before it is believed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.blocks.errors import IndexCorruptError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_DIGEST_BYTES = 16


class PartGoneError(Exception):
    """A file of this commit is not there: a later commit has swept it, or it was lost.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(str(path))


@dataclass(frozen=True, slots=True)
class Seal:
    """What a file must be.

    Attributes:
        size: Bytes.
        digest: BLAKE2b of 16 bytes, in hex.
    """

    size: int
    digest: str


def digest(parts: Iterable[bytes]) -> bytes:
    """BLAKE2b over parts and their lengths, so that no two lists of parts look the same."""
    state = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def row_digest(fields: Iterable[str]) -> bytes:
    """Digest of a row of texts."""
    return digest(field.encode() for field in fields)


def seal(path: Path) -> Seal:
    """Bring a finished file safely to disk, and say what it is."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
    return Seal(path.stat().st_size, _file_digest(path))


def check_seal(path: Path, expected: Seal, remedy: str) -> None:
    """See that a file is what was sealed.

    Raises:
        PartGoneError: It is not there.
        IndexCorruptError: It is another.
    """
    try:
        size = path.stat().st_size
        intact = size == expected.size and _file_digest(path) == expected.digest
    except FileNotFoundError as error:
        raise PartGoneError(path) from error
    if not intact:
        how = f"{size} bytes instead of {expected.size}" if size != expected.size else "altered"
        raise IndexCorruptError(f"{path} is damaged ({how}). {remedy}")


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(
            stream, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)
        ).hexdigest()
