"""What a command reads: passages from files, folders and standard input; a budget."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import BudgetError, InputError
from foveate.blocks.passage import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foveate.compressors.budget import Budget
    from foveate.rag.loaders import Document

STDIN = "-"


def budget_of(text: str) -> Budget:
    """A budget as it is typed: "800" tokens, "0.3" of the input, or "adaptive".

    Raises:
        BudgetError: It is none of these.
    """
    from foveate.compressors.budget import Adaptive, check

    try:
        budget = Adaptive() if text == "adaptive" else _number(text)
        check(budget)
    except ValueError as error:
        raise BudgetError(
            f"budget {text!r} is not allowed; give a number of tokens (800), a share of the input "
            "(0.3), or 'adaptive'"
        ) from error
    return budget


def read_passages(files: Sequence[str], *, chunk_tokens: int | None = None) -> list[Passage]:
    """Passages from files, or from standard input where no file is named.

    A file is a passage, and so is all of standard input; each line of JSON lines is one. Standard
    input is taken for JSON lines if its first line is a JSON object.

    Args:
        files: Paths of files and folders; "-" is standard input.
        chunk_tokens: Cut what is longer into passages of about that many tokens.

    Raises:
        InputError: Something cannot be read, or there is nothing to read.
    """
    if not files and _is_terminal():
        raise InputError("no input; name files, or send text to standard input")
    passages = [
        passage
        for name in files or [STDIN]
        for document in _documents(name)
        for passage in _cut(document, chunk_tokens)
        if passage.text.strip()
    ]
    if not passages:
        raise InputError(f"there is no text in {', '.join(files) or 'standard input'}")
    return passages


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def _is_terminal() -> bool:
    return sys.stdin is None or sys.stdin.isatty()


def _documents(name: str) -> Iterator[Document]:
    from foveate.rag.loaders import load

    return _from_stdin() if name == STDIN else load(name)


def _cut(document: Document, max_tokens: int | None) -> list[Passage]:
    if max_tokens is not None:
        from foveate.rag.chunking import chunk

        return chunk(document, max_tokens=max_tokens)
    metadata = {"source": document.source, **document.metadata}
    return [Passage(document.text, document.id, document.title, metadata)]


def _from_stdin() -> Iterator[Document]:
    from foveate.rag.loaders.base import Document, decode

    data = sys.stdin.buffer.read()
    if b"\0" in data:
        raise InputError("standard input holds binary data; give UTF-8 text or JSON lines")
    text = decode(data, Path("stdin"))
    if not _looks_like_jsonl(text):
        yield Document(text, "stdin", source="stdin")
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _document(line, number)


def _looks_like_jsonl(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    try:
        return isinstance(json.loads(first), dict)
    except ValueError:
        return False


def _document(line: str, number: int) -> Document:
    from foveate.rag.loaders.base import Document

    try:
        record: dict[str, Any] = dict(json.loads(line))
        text, title, name = record.pop("text"), record.pop("title", ""), record.pop("id", "")
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"stdin, line {number} is no JSON object with a text: {error!r}"
        ) from error
    if not isinstance(text, str) or not isinstance(title, str):
        raise InputError(f"stdin, line {number}: text and title must be strings")
    name = f"stdin#{number}" if name in ("", None) else str(name)
    metadata = {"document": "stdin", "line": number, **record}
    return Document(text, name, title, "stdin", metadata, whole=True)
