"""From a parsed HTML tree to text. No recursion: pages nest deeper than Python's stack."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bs4.element import PageElement, Tag

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("ul", "ol")
_LINES = ("br", "li", "dt", "dd", "tr")
_PARAGRAPHS = (
    *("address", "article", "aside", "blockquote", "div", "dl", "fieldset", "figcaption"),
    *("figure", "footer", "form", "header", "hr", "main", "p", "section", "table", *_LISTS),
    *_HEADINGS,
)
_NO_DATA = ("table", "pre", *_LISTS, *_HEADINGS)  # what makes a table a matter of layout
_PERMALINK = "¶"
_SPACES = re.compile(r"\s+")


def to_text(root: Tag) -> str:
    """The text below a tag."""
    page = _Page()
    for tag, opens in _walk(root):
        if isinstance(tag, str):
            page.write(tag)
        elif opens:
            _open(page, tag)
        else:
            page.break_lines(_gap(tag))
    return page.text()


def one_line(tag: Tag) -> str:
    """The text of a tag, on one line."""
    return _SPACES.sub(" ", to_text(tag).replace(_PERMALINK, "")).strip()


class _Page:
    """Text as it grows: white space collapses, and of several line breaks the largest counts."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._space = False
        self.items: Counter[int] = Counter()  # so far, of each numbered list

    def write(self, text: str) -> None:
        """Add running text."""
        words = _SPACES.sub(" ", text)
        self._space = self._space or words.startswith(" ")
        words = words.strip()
        if words and words != _PERMALINK:
            self.add(words)
            self._space = text[-1:].isspace()

    def add(self, text: str, *, marks_line: bool = False) -> None:
        """Add text as it is; after a mark at the start of a line, the line does not break."""
        if self._parts:
            gap = " " if self._space and not self._parts[-1].endswith(" ") else ""
            self._parts.append("\n" * self._breaks or gap)
        self._parts.append(text)
        self._breaks, self._space = (-1 if marks_line else 0), False

    def break_lines(self, count: int) -> None:
        """Break the line, or leave `count` - 1 empty lines."""
        if self._breaks >= 0:
            self._breaks = max(self._breaks, count)

    def text(self) -> str:
        """All of it."""
        return "".join(self._parts).strip()


def _open(page: _Page, tag: Tag) -> None:
    page.break_lines(_gap(tag))
    if tag.name in _HEADINGS:
        page.add("#" * int(tag.name[1]) + " ", marks_line=True)
    elif tag.name == "li":
        page.add(_bullet(page, tag), marks_line=True)
    elif tag.name == "pre":
        page.add("```\n" + tag.get_text().strip("\n") + "\n```")
    elif _is_data(tag):
        page.add(_table(tag))


def _walk(root: Tag) -> Iterator[tuple[Tag | str, bool]]:
    """Tags as they open and close, and the strings between; code and data are not entered."""
    from bs4.element import NavigableString, Tag

    todo: list[tuple[PageElement, bool]] = [(child, True) for child in reversed(root.contents)]
    while todo:
        node, opens = todo.pop()
        if isinstance(node, Tag):
            yield node, opens
            if opens:
                todo.append((node, False))
                if node.name != "pre" and not _is_data(node):
                    todo += [(child, True) for child in reversed(node.contents)]
        elif type(node) is NavigableString:  # its subclasses are comments, doctypes and the like
            yield str(node), True


def _gap(tag: Tag) -> int:
    if tag.name == "pre" or (tag.name in _PARAGRAPHS and not _is_inner_list(tag)):
        return 2
    return 1 if tag.name in _LINES or tag.name in _LISTS else 0


def _is_inner_list(tag: Tag) -> bool:
    return tag.name in _LISTS and tag.find_parent("li") is not None


def _bullet(page: _Page, item: Tag) -> str:
    outer = item.find_parents(_LISTS)
    indent = "  " * (len(outer) - 1)
    if outer and outer[0].name == "ol":
        page.items[id(outer[0])] += 1
        return f"{indent}{page.items[id(outer[0])]}. "
    return f"{indent}- "


def _is_data(tag: Tag) -> bool:
    """Whether it is a table of at least two columns that holds nothing but cells."""
    if tag.name != "table" or tag.find(_NO_DATA):
        return False
    return any(len(row.find_all(["td", "th"])) > 1 for row in tag.find_all("tr"))


def _table(tag: Tag) -> str:
    rows = [
        [one_line(cell).replace("|", r"\|") for cell in row.find_all(["td", "th"])]
        for row in tag.find_all("tr")
    ]
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    return "\n".join([*lines[:1], "|" + "---|" * width, *lines[1:]])
