"""What structure leans on: list items on the line that leads in to them, code on its signature."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foveate.blocks.passage import Unit

_COLONS = (":", "：")
_SIGNATURE = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:export|default|public|private|protected|static|abstract|final"
    r"|async|pub|inline|virtual|override|const|constexpr)\s+)*"
    r"(?:def|class|function|func|fn|interface|trait|impl|struct|enum|module|namespace)\b.*",
    re.MULTILINE,
)


class _Head(NamedTuple):
    """Where a unit begins: characters from the line's beginning, and where to look for a signature.

    The latter is the line's beginning if nothing else stands before the unit on it.
    """

    indent: int
    start: int


def lead_ins(text: str, units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """(unit, the unit that it stands under) for list items and code set in, as places in `units`.

    A list item stands under an item that is set in less and ends with a colon, or under the line
    with a colon right above the list; code, under the nearest signature that is set in less.
    """
    if not any(unit.kind in ("list_item", "code") for unit in units):
        return
    heads = list(_heads(text, units))
    for kind, run in groupby(range(len(units)), key=lambda n: units[n].kind):
        if kind == "list_item":
            yield from _list(text, units, heads, list(run))
        elif kind == "code":
            yield from _code(text, units, heads, list(run))


def _list(
    text: str, units: Sequence[Unit], heads: Sequence[_Head], items: Sequence[int]
) -> Iterator[tuple[int, int]]:
    above = items[0] - 1
    leads = [(-1, above)] if above >= 0 and _leads_in(text, units[above]) else []
    for item in items:
        indent = heads[item].indent
        while leads and leads[-1][0] >= indent:
            leads.pop()
        if leads:
            yield item, leads[-1][1]
        if _leads_in(text, units[item]):
            leads.append((indent, item))


def _code(
    text: str, units: Sequence[Unit], heads: Sequence[_Head], groups: Sequence[int]
) -> Iterator[tuple[int, int]]:
    signatures: list[tuple[int, int]] = []  # (indentation, unit), each set in more than the last
    for group in groups:
        head = heads[group]
        while signatures and signatures[-1][0] >= head.indent:
            signatures.pop()
        if signatures:
            yield group, signatures[-1][1]
        for found in _SIGNATURE.finditer(text, head.start, units[group].end):
            own = len(found["indent"])
            while signatures and signatures[-1][0] >= own:
                signatures.pop()
            signatures.append((own, group))


def _leads_in(text: str, unit: Unit) -> bool:
    return text[unit.start : unit.end].rstrip().endswith(_COLONS)


def _heads(text: str, units: Sequence[Unit]) -> Iterator[_Head]:
    """For each unit; in one pass, for a line may be as long as the text."""
    line = before = 0
    for unit in units:
        own = text[unit.start : unit.end]
        shown = unit.start + len(own) - len(own.lstrip())
        line = max(line, text.rfind("\n", before, shown) + 1)
        begins = line >= before and not text[line:shown].strip()
        yield _Head(shown - line, line if begins else shown)
        before = shown
