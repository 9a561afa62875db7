"""What structure leans on: list items on the line that leads in to them, code on its signature."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

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


def lead_ins(text: str, units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """(unit, the unit that it stands under) for list items and code set in, as places in `units`.

    A list item stands under an item that is set in less and ends with a colon, or under the line
    with a colon right above the list; code, under the nearest signature that is set in less.
    """
    for kind, run in groupby(range(len(units)), key=lambda n: units[n].kind):
        numbers = list(run)
        if kind == "list_item":
            yield from _list(text, units, numbers)
        elif kind == "code":
            yield from _code(text, units, numbers)


def _list(text: str, units: Sequence[Unit], items: Sequence[int]) -> Iterator[tuple[int, int]]:
    above = items[0] - 1
    leads = [(-1, above)] if above >= 0 and _leads_in(text, units[above]) else []
    for item in items:
        indent = _indent(text, units[item])
        while leads and leads[-1][0] >= indent:
            leads.pop()
        if leads:
            yield item, leads[-1][1]
        if _leads_in(text, units[item]):
            leads.append((indent, item))


def _code(text: str, units: Sequence[Unit], groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    signatures: list[tuple[int, int]] = []  # (indentation, unit), each set in more than the last
    for group in groups:
        unit, indent = units[group], _indent(text, units[group])
        while signatures and signatures[-1][0] >= indent:
            signatures.pop()
        if signatures:
            yield group, signatures[-1][1]
        for found in _SIGNATURE.finditer(text, _shown(text, unit) - indent, unit.end):
            own = len(found["indent"])
            while signatures and signatures[-1][0] >= own:
                signatures.pop()
            signatures.append((own, group))


def _leads_in(text: str, unit: Unit) -> bool:
    return text[unit.start : unit.end].rstrip().endswith(_COLONS)


def _indent(text: str, unit: Unit) -> int:
    """Characters between the beginning of the line and the unit's first visible one."""
    shown = _shown(text, unit)
    return shown - (text.rfind("\n", 0, shown) + 1)


def _shown(text: str, unit: Unit) -> int:
    own = text[unit.start : unit.end]
    return unit.start + len(own) - len(own.lstrip())
