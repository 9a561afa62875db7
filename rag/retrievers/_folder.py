"""Making an index folder, and measuring one."""

from __future__ import annotations

import shutil
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError, StoreError

from ._catalog import create_store
from ._manifest import MANIFEST, STORE

if TYPE_CHECKING:
    from pathlib import Path

    from ._manifest import Manifest


def check_free(folder: Path) -> None:
    """See that an index can be made there.

    Raises:
        InputError: There is something.
    """
    if (folder / MANIFEST).exists() and (folder / STORE).exists():
        raise InputError(f"there is an index in {folder} already; open it with Index.open(folder)")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(
            f"{folder} exists and is no empty folder; nothing is overwritten: give another path"
        )


def make_folder(folder: Path, manifest: Manifest) -> None:
    """Put an empty index in place, by one rename.

    Raises:
        StoreError: The disk refused.
    """
    scratch = folder.absolute().parent / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        scratch.mkdir(parents=True)
        create_store(scratch / STORE, manifest.to_json())
        (scratch / MANIFEST).write_text(manifest.to_json(), "utf-8")
        if folder.exists():
            folder.rmdir()  # empty; Windows renames onto nothing that exists
        scratch.rename(folder)
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise StoreError(
            f"{folder} cannot be made: {error}; check the disk and the path"
        ) from error


def disk_bytes(folder: Path) -> int:
    """Bytes of all files in the folder; those that a writer sweeps meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total
