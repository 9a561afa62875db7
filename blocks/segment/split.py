"""Cutting a span that is too long into balanced pieces, at the best marks there are."""

from __future__ import annotations

import re
import unicodedata
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..passage import UnitKind
    from .estimate import Ruler

# Two tokens are kept back: a piece cut out of a word costs a little more alone than in place.
_RESERVE = 2
# A piece may be this much smaller or larger than its fair share if that buys a better mark.
_SMALLEST_SHARE, _LARGEST_SHARE = 0.55, 1.4

_CLOSERS = r"[\"'”’»)\]}」』）】》]*"
_SENTENCE_END = re.compile(
    rf"(?<=[^\W_A-Z][^\W_A-Z])[.!?…]+{_CLOSERS}\s+(?![a-z\s])|[。！？｡؟۔।॥።။։]{_CLOSERS}\s*"
)
_CLAUSE_END = re.compile(r"[;:؛]\s+|\s[-–—]+\s+|—|[；：፤]\s*")
_PHRASE_END = re.compile(r",\s+|[，、،፣]\s*|[)\]}”»」』）】》]\s+|[」』）】》]")
_SPACE = re.compile(r"\s+")
_CLOSED = re.compile(r"[,;}\])]+\s*(?!\d)")
_SIGN = re.compile(r"[^\w\s]+")
_PROSE = (_SENTENCE_END, _CLAUSE_END, _PHRASE_END, _SPACE, _CLOSED, _SIGN)

# Ends of sentences in a comment, lines at the outer level that begin a statement, any line.
_COMMENT_END = re.compile(r"[.?!](?:\"\"\"|'''| ?\*/)?[^\S\n]*\n\s*")
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_BEGINS = r"(?! |[})\]]|else\b|elif\b|except\b|finally\b|catch\b)"
_OUTERMOST_LINE = re.compile(r"\n {0,2}" + _BEGINS)
_OUTER_LINE = re.compile(r"\n {0,4}" + _BEGINS)
_LINE = re.compile(r"\n\s*")
_CODE = (_EMPTY_LINE, _COMMENT_END, _OUTERMOST_LINE, _OUTER_LINE, _LINE, _CLOSED, _SPACE, _SIGN)
_CELL = re.compile(r"(?=\|)")
_ROW = (_LINE, _CELL, re.compile(r"\t\s*"), *_PROSE)

_JOINERS = frozenset("\u200c\u200d\u2060")
_VIRAMA = 9  # the combining class of signs that bind a consonant to the next one
# Thai and Lao vowels that are written before the consonant they belong to.
_LEADING_VOWELS = frozenset("เแโใไເແໂໃໄ")


def cut_points(
    text: str, start: int, end: int, *, ruler: Ruler, limit: float, kind: UnitKind
) -> list[int]:
    """Where to cut `text[start:end]` so that no piece is longer than `limit`.

    Cuts stand before a visible character, never inside what a reader sees as one (a base and its
    accents, a joined emoji) unless that alone is longer than `limit`. Linear in `end - start`.

    Args:
        text: The whole text.
        start: First character, visible.
        end: One past the last visible character.
        ruler: Laid along `text`.
        limit: Most length of a piece, white space behind it aside.
        kind: Chooses the marks: lines for code, cells for table rows, clauses for all else.

    Returns:
        Offsets in rising order, none of them `start` or `end`.
    """
    marks = {"code": _CODE, "table_row": _ROW}.get(kind, _PROSE)
    room = limit - _RESERVE
    cuts: list[int] = []
    while (size := ruler.size(start, end)) > room:
        share = size / ceil(size / room)
        low = ruler.reach(start, share * _SMALLEST_SHARE)
        high = ruler.reach(start, min(room, share * _LARGEST_SHARE))
        start = _best_cut(text, (start, low, high, end), ruler.reach(start, share), marks)
        cuts.append(start)
    return cuts


def _best_cut(
    text: str, window: tuple[int, int, int, int], ideal: int, marks: Sequence[re.Pattern[str]]
) -> int:
    """The mark of the best sort nearest to `ideal`, or else the nearest safe character."""
    start, low, high, end = window
    for pattern in marks:
        ends = (match.end() for match in pattern.finditer(text, max(low, start + 1), high))
        if found := [cut for cut in ends if cut < end and not _tears(text, start, cut)]:
            return _skip_space(text, min(found, key=lambda cut: abs(cut - ideal)))
    for distance in range(high - start):
        for cut in (ideal - distance, ideal + distance):
            if start < cut <= high and not (text[cut].isspace() or _tears(text, start, cut)):
                return cut
    return _skip_space(text, max(high, start + 1))


def _skip_space(text: str, cut: int) -> int:
    space = _SPACE.match(text, cut)
    return space.end() if space else cut


def _tears(text: str, start: int, cut: int) -> bool:
    """Whether a cut here would part what a reader sees as one."""
    return _joins(text, cut) or _halves_flag(text, start, cut)


def _joins(text: str, cut: int) -> bool:
    """Whether the characters on both sides of `cut` are seen as one."""
    before, after = text[cut - 1], text[cut]
    return not before.isspace() and (
        after in _JOINERS
        or before in _JOINERS
        or before in _LEADING_VOWELS
        or unicodedata.category(after)[0] == "M"
        or unicodedata.combining(before) == _VIRAMA
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags, as in the flag of Scotland
        or "\u1160" <= after <= "\u11ff"  # vowels and finals of conjoining Hangul
    )


def _halves_flag(text: str, start: int, cut: int) -> bool:
    """Whether `cut` parts the two letters of a flag."""
    first = cut
    while first > start and "\U0001f1e6" <= text[first - 1] <= "\U0001f1ff":
        first -= 1
    return (cut - first) % 2 == 1 and "\U0001f1e6" <= text[cut] <= "\U0001f1ff"
