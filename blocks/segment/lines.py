"""A text as its visible lines: where each begins and ends, how deep it stands, what lies before."""

from __future__ import annotations

import re
from typing import NamedTuple

TAB_WIDTH = 4

# One match is one line that shows something; blank lines never match, so they cost nothing.
_VISIBLE = re.compile(r"\S[^\n\r\f\u2028\u2029]*")
_BREAKS = re.compile(r"\r\n|[\n\r\u2028]|(?P<paragraph>[\f\u2029])")
# What stands before each line of a quotation ("> ") or of a class in pydoc (" |  "). A pipe is a
# margin only where the line has no second one: two pipes make a table row.
_MARGIN = re.compile(r"\|[ \t]{2,}(?=[^\s|])(?![^\n]*\|)|(?:>[ \t]+)+(?=[^\s>])")
_ONLY_MARGIN = frozenset(("|", ">"))
_RULE_SIGNS = "-=*_~#+^.·•─━═—– \t"
_FEWEST_RULE_SIGNS = 3


class Line(NamedTuple):
    """One visible line. A named tuple, because a megabyte can hold half a million of them.

    Attributes:
        start: Its first visible character.
        body: Its first character after a margin, equal to `start` where there is none.
        end: One past its last visible character.
        indent: Columns before `body`.
        gap: A blank line, or the start of the text, lies before it.
    """

    start: int
    body: int
    end: int
    indent: int
    gap: bool


def read_lines(text: str) -> list[Line]:
    """The visible lines of `text`, in order. Runs in linear time."""
    lines: list[Line] = []
    previous, gap = 0, True
    for match in _VISIBLE.finditer(text):
        start, shown = match.start(), match[0].rstrip()
        between = text[previous:start]
        if between == "\n":  # the common case, and the one that must be cheap
            column = 0
        else:
            gap, column = gap or _is_gap(between), _column(between)
        previous = start + len(shown)
        if shown in _ONLY_MARGIN:
            gap = True
            continue
        body = start
        if shown[0] in _ONLY_MARGIN and (margin := _MARGIN.match(text, start, previous)):
            body = margin.end()
            column += len(margin[0].expandtabs(TAB_WIDTH))
        lines.append(Line(start, body, previous, column, gap))
        gap = False
    return lines


def is_rule(shown: str) -> bool:
    """Whether a line only parts what is above from what is below."""
    return len(shown) >= _FEWEST_RULE_SIGNS and not shown.strip(_RULE_SIGNS)


def _is_gap(between: str) -> bool:
    """Whether the white space between two lines holds an empty line."""
    found = 0
    for match in _BREAKS.finditer(between):
        found += 2 if match["paragraph"] else 1
        if found > 1:
            return True
    return False


def _column(between: str) -> int:
    """Columns after the last line break in `between`."""
    last = max(map(between.rfind, "\n\r\f\u2028\u2029"))
    return len(between[last + 1 :].expandtabs(TAB_WIDTH))
