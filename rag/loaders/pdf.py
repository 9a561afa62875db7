"""PDF, by pypdf: the text of all pages, and where each page starts."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import MissingExtraError, UnsupportedFileError

from .base import Document, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def load_pdf(path: Path, document_id: str) -> Iterator[Document]:
    """One document; passages cut from it know their page.

    Raises:
        UnsupportedFileError: It is encrypted, damaged, or holds no text.
        MissingExtraError: pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtraError("pypdf", "retrieval") from error
    try:
        title, pages = _read(pypdf, path)
    except OSError as error:
        raise unreadable(path, error) from error
    except UnsupportedFileError:
        raise
    # pypdf raises whatever a damaged file makes it stumble over: KeyError, RecursionError,
    # zlib.error ...
    except Exception as error:
        raise UnsupportedFileError(
            f"{path} is a damaged PDF, or none ({type(error).__name__}: {error}); "
            "save it anew from its source"
        ) from error
    if not any(page.strip() for page in pages):
        raise UnsupportedFileError(
            f"{path} holds no text, perhaps scanned pages; run it through a text recognition "
            "such as ocrmypdf"
        )
    starts = tuple(accumulate((len(page) + 1 for page in pages[:-1]), initial=0))
    yield Document("\n".join(pages), document_id, title or path.stem, str(path), pages=starts)


def _read(pypdf: Any, path: Path) -> tuple[str, list[str]]:
    with path.open("rb") as stream:
        reader = pypdf.PdfReader(stream)
        # Many "encrypted" files open without a password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnsupportedFileError(f"{path} is encrypted; save it without a password")
        title = str((reader.metadata and reader.metadata.title) or "").strip()
        return title, [_clean(page.extract_text()) for page in reader.pages]


def _clean(text: str) -> str:
    # Fonts without a proper character map yield halves of surrogate pairs, which no UTF-8 file can
    # hold.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
