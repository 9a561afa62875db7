"""What a loader makes of a file: documents of plain text."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import InputError, TextEncodingError

if TYPE_CHECKING:
    from pathlib import Path

_SNIFFED_BYTES = 8192
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name.

    Attributes:
        text: Plain text, or the like of Markdown.
        id: Stays the same from run to run; chunks are named after it.
        title: What it is called.
        source: Path of the file.
        metadata: More about it; goes to each of its passages.
        pages: Where each page starts in `text`, in characters; empty when it has no pages.
        whole: It is one passage already, never to be cut.
    """

    text: str
    id: str = ""
    title: str = ""
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pages: tuple[int, ...] = ()
    whole: bool = False


Loader = Callable[["Path", str], Iterator[Document]]
"""Takes a file and the id of what it holds."""


def read_bytes(path: Path) -> bytes:
    """All of a file.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file that the system does not give."""
    return InputError(f"{path} cannot be read: {error.strerror or error}")


def decode(data: bytes, path: Path, *, offset: int = 0) -> str:
    """UTF-8 to text, without the byte order mark.

    Args:
        data: The bytes.
        path: The file they are from.
        offset: Where in the file they start.

    Raises:
        TextEncodingError: They are no UTF-8.
    """
    mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) and not offset else 0
    try:
        return data[mark:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = mark + error.start
        likely = "UTF-16" if data.startswith(_UTF16_MARKS) else "WINDOWS-1252"
        raise TextEncodingError(
            f"{path} is not UTF-8: byte 0x{data[at]:02x} at offset {offset + at}. Convert it, for "
            f"example: iconv -f {likely} -t UTF-8 {path.name} > {path.stem}.utf8{path.suffix}"
        ) from error


def read_text(path: Path) -> str:
    """All of a UTF-8 file, line ends as they are.

    Raises:
        InputError: It cannot be read.
        TextEncodingError: It is not UTF-8.
    """
    return decode(read_bytes(path), path)


def is_binary(path: Path) -> bool:
    """Whether a file that should be text is none: it holds a zero byte, and is not UTF-16."""
    try:
        with path.open("rb") as stream:
            start = stream.read(_SNIFFED_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    return b"\0" in start and not start.startswith(_UTF16_MARKS)
