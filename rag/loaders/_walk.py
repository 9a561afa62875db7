"""Which files of a folder are loaded."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError

from .base import is_binary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_log = logging.getLogger(__name__)


def files_below(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Files with one of the suffixes below a folder, sorted by path; what is passed over is logged.

    Raises:
        InputError: There is no such folder, or it cannot be listed.
    """
    if not folder.is_dir():
        raise InputError(f"there is no file or folder {str(folder)!r}")
    return sorted(file for file in _all_below(folder) if _is_wanted(file, suffixes))


def _all_below(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise InputError(f"{error.filename} cannot be listed: {error.strerror}") from error

    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _is_wanted(file: Path, suffixes: Collection[str]) -> bool:
    suffix = file.suffix.lower()
    if suffix not in suffixes:
        _log.info("passed over %s: no loader for %r", file, suffix)
    elif not file.is_file():
        _log.info("passed over %s: no regular file", file)
    elif suffix != ".pdf" and is_binary(file):
        _log.warning("passed over %s: binary data", file)
    else:
        return True
    return False
