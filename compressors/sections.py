"""Which units stand under which heading."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Candidates


def sections(candidates: Candidates) -> dict[int, tuple[int, ...]]:
    """For each heading, the units of its passage down to the next heading.

    A heading right above another one heads what that one does. One that nothing follows is left
    out: it is all that there is.
    """
    found: dict[int, tuple[int, ...]] = {}
    owners, units = candidates.owners.tolist(), candidates.units
    under: tuple[int, ...] = ()
    below: list[int] = []  # units between here and the next heading, last first
    for unit in range(len(units) - 1, -1, -1):
        if unit + 1 < len(units) and owners[unit + 1] != owners[unit]:
            under, below = (), []
        if units[unit].kind != "heading":
            below.append(unit)
            continue
        if below:
            under, below = tuple(reversed(below)), []
        if under:
            found[unit] = under
    return found
