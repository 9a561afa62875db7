"""Tables: pipes with or without a delimiter row, and columns parted by tabs."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from .source import Draft

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Source

_DELIMITER_SIGNS = "|+:-= \t"
_AMOUNT = re.compile(r"[^\w\s]{0,3}\s?[^\w\s]?\d[\d.,\s]*[^\w\s]{0,3}")
_YEAR = re.compile(r"\W*(?:19|20)\d\d\W*(?:\(\d\))?\W*")
# Rows before the delimiter, and rows behind it that go on with the header.
_MOST_LEADING_ROWS, _MOST_HEADER_ROWS = 4, 4
_FEWEST_TAB_ROWS = 3


def table_end(source: Source, first: int) -> int:
    """One past the last line of the table that starts at line `first`, or `first` if none does."""
    if (tabs := _tabs(source, first)) and source.shown(first).count("|") < 2:
        stop = _run(source, first, lambda number: _tabs(source, number) == tabs)
        return stop if stop - first >= _FEWEST_TAB_ROWS else first
    if not _may_be_row(source.shown(first)):
        return first
    if not _begins_pipe_table(source, first):
        return first
    return _run(source, first, lambda number: _may_be_row(source.shown(number)))


def is_table_row(shown: str) -> bool:
    """Whether a line is a row with a pipe on either side, which no running text is."""
    return len(shown) > 2 and shown[0] == shown[-1] == "|" and shown.count("|") > 2


def table_drafts(source: Source, first: int, stop: int) -> list[Draft]:
    """The header of the table in lines `first` to `stop` as one draft, each row as another."""
    start = source.lines[first].start
    behind = first + _header_rows(source, first, stop)
    body = [n for n in range(behind, stop) if not _is_delimiter(source.shown(n))]
    if behind > first:
        rows = (Draft(source.lines[n].start, "table_row", (start,)) for n in body)
        return [Draft(start, "table_row"), *rows]
    # A delimiter ahead of all rows goes with the first of them.
    return [Draft(n, "table_row") for n in [start, *(source.lines[n].start for n in body[1:])]]


def _tabs(source: Source, number: int) -> int:
    return source.shown(number).count("\t")


def _run(source: Source, first: int, holds: Callable[[int], bool]) -> int:
    stop = first + 1
    while stop < len(source.lines) and not source.lines[stop].gap and holds(stop):
        stop += 1
    return stop


def _begins_pipe_table(source: Source, first: int) -> bool:
    """Whether line `first` is a row for sure, or a delimiter stands close below it."""
    if is_table_row(source.shown(first)):
        return True
    lead = range(first + 1, min(source.block_end(first), first + _MOST_LEADING_ROWS + 1))
    rows = takewhile(_may_be_row, map(source.shown, lead))
    return any(map(_is_delimiter, rows))


def _may_be_row(shown: str) -> bool:
    return "|" in shown or _is_delimiter(shown)


def _is_delimiter(shown: str) -> bool:
    has_signs = ("-" in shown or "=" in shown) and ("|" in shown or "+" in shown)
    return has_signs and not shown.strip(_DELIMITER_SIGNS)


def _header_rows(source: Source, first: int, stop: int) -> int:
    """How many lines make the header, the delimiter among them; 0 if there is none."""
    lead = range(first, min(stop, first + _MOST_LEADING_ROWS + 1))
    delimiters = [number for number in lead if _is_delimiter(source.shown(number))]
    if not delimiters:
        return _unmarked_header(source, first, stop)
    if delimiters[0] == first:  # a box, or a chunk that begins at the delimiter
        return delimiters[1] - first + 1 if len(delimiters) > 1 else 0
    rows = delimiters[0] - first + 1
    for number in range(first + rows, min(stop - 1, first + rows + _MOST_HEADER_ROWS)):
        if not _continues_header(_cells(source.shown(number))):
            break
        rows += 1
    return rows


def _continues_header(cells: list[str]) -> bool:
    """Whether a row names columns: nothing (or a unit) in the first, no amount in the others."""
    named = [cell for cell in cells[1:] if cell]
    stub = cells[0]
    is_unit = stub.startswith("(") and stub.endswith(")")
    return bool(named) and (not stub or is_unit) and not any(map(_is_amount, named))


def _unmarked_header(source: Source, first: int, stop: int) -> int:
    """1 if the first row names the columns of amounts below it, else 0."""
    if stop - first < 2 or any(map(_is_amount, _cells(source.shown(first)))):
        return 0
    return int(any(map(_is_amount, _cells(source.shown(first + 1)))))


def _cells(shown: str) -> list[str]:
    if "|" not in shown:
        return [cell.strip() for cell in shown.split("\t")]
    return [cell.strip() for cell in shown.removeprefix("|").removesuffix("|").split("|")]


def _is_amount(cell: str) -> bool:
    return bool(_AMOUNT.fullmatch(cell)) and not _YEAR.fullmatch(cell)
