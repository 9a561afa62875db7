"""HTML to text like Markdown: headings, lists, tables and code keep their shape."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from foveate.blocks.errors import MissingExtraError

from ._html_text import one_line, to_text
from .base import Document, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_XML_DECLARATION = re.compile(r"\A\s*<\?xml.*?\?>", re.DOTALL)
_DROPPED = ["script", "style", "nav", "noscript", "template", "svg", "iframe", "head"]


def load_html(path: Path, document_id: str) -> Iterator[Document]:
    """One document, called by its title, its first heading, or its file."""
    text, title = html_to_text(read_text(path))
    yield Document(text, document_id, title or path.stem, str(path))


def html_to_text(html: str) -> tuple[str, str]:
    """Text and title of a page.

    Raises:
        MissingExtraError: BeautifulSoup is not installed.
    """
    try:
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise MissingExtraError("beautifulsoup4", "retrieval") from error
    # As a stream and without the XML declaration: else it may warn that this is a file name, or
    # XML.
    soup = BeautifulSoup(StringIO(_XML_DECLARATION.sub("", html)), "html.parser")
    titles = [one_line(tag) for tag in soup.find_all(["title", "h1"]) if not tag.find_parent("svg")]
    for tag in soup.find_all(_DROPPED):
        tag.decompose()
    return to_text(soup), next(filter(None, titles), "")
