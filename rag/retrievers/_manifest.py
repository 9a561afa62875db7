"""The manifest of an index folder: what it is, and which embedder its vectors are of.

Written once, when the folder is made; what changes with each commit is in the passage store.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import IndexCorruptError, IndexNotFoundError, StoreError

from ._seal import digest

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
STORE = "passages.sqlite3"
KIND = "foveate-index"
FORMAT = 1

REPAIR = "Index.repair(folder) makes it anew from the passages, which are kept apart."
"""Remedy where only derived data is damaged."""

RESTORE = "Restore the folder from a copy, or index the documents again into a new folder."
"""Remedy where the passages themselves are damaged."""


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Which embedder made some vectors.

    Attributes:
        name: What it was called when it was named; only for finding it again.
        dim: Length of its vectors.
        digest: Digest of its weights, tokenizer and pooling; two embedders are the same when this
            and `dim` are.
    """

    name: str
    dim: int
    digest: str

    def matches(self, other: EmbedderIdentity) -> bool:
        """Whether both give the same vectors."""
        return (self.dim, self.digest) == (other.dim, other.digest)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index folder is.

    Attributes:
        embedder: The embedder of its vectors; None when it holds none.
        format: Version of the layout.
    """

    embedder: EmbedderIdentity | None
    format: int = FORMAT

    def to_json(self) -> str:
        """As text that carries its own checksum."""
        body = {"kind": KIND, **asdict(self)}
        return json.dumps({**body, "checksum": _checksum(body)}, indent=1)


def parse_manifest(text: str, path: Path) -> Manifest:
    """Read what `Manifest.to_json` wrote.

    Raises:
        IndexCorruptError: It was altered since.
        StoreError: A later version of Foveate wrote it.
    """
    try:
        body: dict[str, Any] = json.loads(text)
        checksum = body.pop("checksum")
        intact = checksum == _checksum(body) and body["kind"] == KIND
    except (ValueError, TypeError, KeyError, AttributeError):
        intact = False
    if not intact:
        raise IndexCorruptError(f"{path} is damaged. {REPAIR}")
    if body["format"] > FORMAT:
        raise StoreError(
            f"{path} has format {body['format']}; this Foveate reads up to {FORMAT}: upgrade it"
        )
    embedder = body["embedder"]
    return Manifest(EmbedderIdentity(**embedder) if embedder else None, body["format"])


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an index folder.

    Raises:
        IndexNotFoundError: There is no index in the folder.
        IndexCorruptError: There is one, and its manifest is damaged or gone.
        StoreError: A later version of Foveate wrote it.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise IndexCorruptError(f"{path} is damaged. {REPAIR}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if (folder / STORE).exists():
            raise IndexCorruptError(f"{path} is missing. {REPAIR}") from error
        raise _not_found(folder) from error
    if (folder / STORE).exists():
        return parse_manifest(text, path)
    if KIND in text:
        raise IndexCorruptError(f"{folder / STORE} is missing. {RESTORE}")
    raise _not_found(folder)


def _not_found(folder: Path) -> IndexNotFoundError:
    return IndexNotFoundError(
        f"there is no index in {folder}; make one: foveate index {folder} PATH..., or in Python "
        "Index.create(folder)"
    )


def _checksum(body: dict[str, Any]) -> str:
    return digest([json.dumps(body, sort_keys=True).encode()]).hex()
