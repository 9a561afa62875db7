"""Markdown and reStructuredText, left as they are; the first heading is the title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .base import Document, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*\r?$", re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
# "# Title", or a line underlined by at least three of the signs that reStructuredText takes.
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<hashed>.+?)(?:[ \t]+#+)?[ \t]*\r?$"
    r"|^(?P<underlined>\S.*?)[ \t]*\r?\n(?P<line>[=\-`:.'\"~^_*+#])(?P=line){2,}[ \t]*\r?$",
    re.MULTILINE,
)


def load_markdown(path: Path, document_id: str) -> Iterator[Document]:
    """One document, called after its first heading."""
    text = read_text(path)
    yield Document(text, document_id, find_title(text) or path.stem, str(path))


def find_title(text: str) -> str:
    """The title in the front matter, else the first heading; empty when there is none."""
    front = _FRONT_MATTER.match(text)
    if front:
        named = _FRONT_TITLE.search(front[1])
        if named:
            return named[2]
        text = text[front.end() :]
    found = (
        heading for heading in _HEADING.finditer(_FENCED.sub("", text)) if _is_heading(heading)
    )
    heading = next(found, None)
    return (heading["hashed"] or heading["underlined"]) if heading else ""


def _is_heading(match: re.Match[str]) -> bool:
    # A line over a line may be a table or the overline of the heading itself: a heading has
    # letters.
    return any(character.isalnum() for character in match["hashed"] or match["underlined"])
