"""Plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Document, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def load_text(path: Path, document_id: str) -> Iterator[Document]:
    """One document, called after its file."""
    yield Document(read_text(path), document_id, path.stem, str(path))
