"""Documents to passages: cut between units, never inside one.

A passage is a verbatim slice of its document, as many units as fit, from a heading on where there
is one. The heading goes into its title, too, so that a passage from the middle of a section still
says what it is about.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.blocks.segment import estimate_tokens, segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foveate.blocks.passage import Unit

    from .loaders.base import Document

_ENOUGH = 0.25  # share of the limit from which a heading opens a new chunk


@dataclass(frozen=True, slots=True)
class _Piece:
    """Units `start` to `end` that stay together: headings, and the unit they lead to."""

    start: int
    end: int
    opens: bool


def chunk(
    document: Document,
    *,
    max_tokens: int = 200,
    overlap: int = 1,
    count: Callable[[str], int] | None = None,
) -> list[Passage]:
    """Cut a document into passages.

    Args:
        document: What to cut; one that is `whole` gives one passage.
        max_tokens: How long a passage may be, counted unit by unit. A single unit that is longer,
            with its heading, is a passage by itself.
        overlap: Units at the end of a passage that the next one of the same section starts with.
        count: Counts the tokens of a text; None estimates.

    Returns:
        Passages that follow each other, called `id#0`, `id#1` ... Their metadata is the document's,
        and `document`, `source`, `start` and `end` (characters in the document's text), and `page`
        where there are pages.

    Raises:
        InputError: `max_tokens` or `overlap` is out of range.
    """
    if max_tokens < 1 or overlap < 0:
        raise InputError(
            f"max_tokens is {max_tokens}, overlap is {overlap}; give max_tokens >= 1, overlap >= 0"
        )
    if document.whole:
        metadata = {"document": document.id, "source": document.source, **document.metadata}
        return [Passage(document.text, document.id, document.title, metadata)]
    units = segment(document.text)
    sizes = [(count or estimate_tokens)(document.text[unit.start : unit.end]) for unit in units]
    passages: list[Passage] = []
    for first, end, heading in _spans(units, sizes, max_tokens, overlap):
        text_start, text_end = _trim(document.text, units[first].start, units[end - 1].end)
        if text_start < text_end:
            section = "" if heading is None else _heading_text(document.text, units[heading])
            passages.append(_passage(document, len(passages), text_start, text_end, section))
    return passages


def _spans(
    units: Sequence[Unit], sizes: Sequence[int], limit: int, overlap: int
) -> Iterator[tuple[int, int, int | None]]:
    """First unit, past the last unit, and nearest heading of each chunk."""
    pieces = _pieces(units)
    sums = list(accumulate(sizes, initial=0))
    at = before = 0
    heading: int | None = None
    while at < len(pieces):
        piece = pieces[at]
        heading = piece.end - 2 if piece.opens else heading
        first = (
            piece.start if piece.opens else _overlapped(units, sums, before, piece, limit, overlap)
        )
        before = piece.start
        last = at + 1
        while last < len(pieces) and _joins(pieces[last], first, sums, limit):
            last += 1
        yield first, pieces[last - 1].end, heading
        heading = next((p.end - 2 for p in reversed(pieces[at:last]) if p.opens), heading)
        at = last


def _pieces(units: Sequence[Unit]) -> list[_Piece]:
    pieces: list[_Piece] = []
    start = 0
    for place, unit in enumerate(units):
        if unit.kind != "heading" or place == len(units) - 1:
            opens = units[start].kind == "heading" and start < place
            pieces.append(_Piece(start, place + 1, opens))
            start = place + 1
    return pieces


def _joins(piece: _Piece, first: int, sums: Sequence[int], limit: int) -> bool:
    enough = piece.opens and sums[piece.start] - sums[first] >= _ENOUGH * limit
    return not enough and sums[piece.end] - sums[first] <= limit


def _overlapped(
    units: Sequence[Unit], sums: Sequence[int], before: int, piece: _Piece, limit: int, overlap: int
) -> int:
    """Where a chunk starts that goes on within a section: some units back, as far as they fit."""
    first = piece.start
    for place in range(piece.start - 1, max(piece.start - overlap - 1, before), -1):
        if units[place].kind == "heading" or sums[piece.end] - sums[place] > limit:
            break
        first = place
    return first


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _heading_text(text: str, unit: Unit) -> str:
    """A heading without its marks: "# Title", or a line between lines of signs."""
    lines = (line.strip().strip("#").strip() for line in text[unit.start : unit.end].splitlines())
    return next((line for line in lines if any(map(str.isalnum, line))), "")


def _passage(document: Document, number: int, start: int, end: int, section: str) -> Passage:
    metadata: dict[str, Any] = {
        **document.metadata,
        "document": document.id,
        "source": document.source,
        "start": start,
        "end": end,
    }
    if document.pages:
        metadata["page"] = bisect_right(document.pages, start)
    titles = dict.fromkeys(part for part in (document.title, section) if part)
    return Passage(
        document.text[start:end], f"{document.id}#{number}", " > ".join(titles), metadata
    )
