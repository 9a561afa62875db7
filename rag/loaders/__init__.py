"""Loading a file or a folder: text, Markdown, reStructuredText, HTML, PDF, JSON lines."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from foveate.blocks.errors import InputError, UnsupportedFileError
from foveate.blocks.progress import silent

from ._walk import files_below
from .base import Document, Loader, is_binary
from .html import load_html
from .jsonl import load_jsonl
from .markdown import load_markdown
from .pdf import load_pdf
from .text import load_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveate.blocks.progress import Progress

__all__ = ["LOADERS", "Document", "Loader", "load"]

LOADERS: dict[str, Loader] = {
    **dict.fromkeys((".txt", ".text"), load_text),
    **dict.fromkeys((".md", ".markdown", ".rst"), load_markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), load_html),
    ".pdf": load_pdf,
    **dict.fromkeys((".jsonl", ".ndjson"), load_jsonl),
}
"""Loader for each file name extension, in lower case."""

_log = logging.getLogger(__name__)


def load(
    path: str | Path,
    *,
    on_error: Literal["raise", "skip"] = "raise",
    progress: Progress | None = None,
) -> Iterator[Document]:
    """Load a file, or all files below a folder, in the order of their paths.

    In a folder, hidden files and those of a kind that no loader reads are passed over, with a note
    to the log.

    Args:
        path: File or folder.
        on_error: What to do about a file that cannot be loaded: "raise" ends it all, "skip" leaves
            that file out, all of it, and logs why.
        progress: Called with "load" and the files done.

    Returns:
        Documents, loaded as they are asked for. Their ids start with the name of the file or
        folder.

    Raises:
        InputError: There is no such file, or one cannot be loaded (`TextEncodingError`,
            `UnsupportedFileError`).
    """
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error is {on_error!r}; choose 'raise' or 'skip'")
    path = Path(path)
    files = [path] if path.is_file() else files_below(path, LOADERS)
    return _load_all(path, files, on_error == "skip", progress or silent)


def _load_all(root: Path, files: list[Path], skip: bool, progress: Progress) -> Iterator[Document]:
    for done, file in enumerate(files):
        progress("load", done, len(files))
        try:
            documents = _load(file, _name(root, file))
            # A file that turns out bad half-way is left out as a whole.
            yield from list(documents) if skip else documents
        except InputError as error:
            if not skip:
                raise
            _log.warning("left out: %s", error)
    progress("load", len(files), len(files))


def _load(file: Path, document_id: str) -> Iterator[Document]:
    suffix = file.suffix.lower()
    if suffix not in LOADERS:
        raise UnsupportedFileError(
            f"{file} has the extension {suffix!r}; one of these can be loaded: {', '.join(LOADERS)}"
        )
    if suffix != ".pdf" and is_binary(file):
        raise UnsupportedFileError(
            f"{file} holds binary data, not text; give the text it came from"
        )
    return LOADERS[suffix](file, document_id)


def _name(root: Path, file: Path) -> str:
    """Name of the file, or its path from the folder on: where the folder lies does not matter."""
    if file == root:
        return file.name
    return Path(root.resolve().name, file.relative_to(root)).as_posix()
