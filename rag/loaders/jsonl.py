"""JSON lines: one passage a line, with keys `text`, `id`, `title`; others become metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from foveate.blocks.errors import InputError

from .base import Document, decode, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def load_jsonl(path: Path, document_id: str) -> Iterator[Document]:
    """A document for each line, never to be cut. Without an id, it is named by its line.

    Raises:
        InputError: A line is no JSON object with a text; the message names it.
        TextEncodingError: A line is not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            offset = 0
            for number, line in enumerate(stream, start=1):
                text = decode(line, path, offset=offset)
                offset += len(line)
                if text.strip():
                    yield _document(text, path, document_id, number)
    except OSError as error:
        raise unreadable(path, error) from error


def _document(line: str, path: Path, document_id: str, number: int) -> Document:
    where = f"{path}, line {number}"
    record = _parse(line, where)
    text, name, title = record.pop("text", None), record.pop("id", None), record.pop("title", None)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where} has no text; give each line a key 'text' with a string")
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        raise InputError(f"{where} has the id {name!r}; give a string or an integer")
    if not isinstance(title, str | None):
        raise InputError(f"{where} has the title {title!r}; give a string")
    return Document(
        text=text,
        id=f"{document_id}#{number}" if name is None or name == "" else str(name),
        title=title or "",
        source=str(path),
        metadata={"document": document_id, "line": number, **record},
        whole=True,
    )


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{where} holds a lone surrogate; remove it") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(
            f"{where} is {type(record).__name__}; give a JSON object with a key 'text'"
        )
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
