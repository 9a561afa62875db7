"""What the caller pinned, as units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foveate.blocks.candidates import Candidates

    from .engine import Pin


def pinned_units(candidates: Candidates, pins: Iterable[Pin]) -> list[int]:
    """Indices, ascending, of the units that pins touch.

    Raises:
        InputError: A pin is malformed, names no passage, or lies outside of its text.
    """
    by_id: dict[str, list[int]] = {}
    for index, passage in enumerate(candidates.passages):
        by_id.setdefault(passage.id, []).append(index)
    pinned: set[int] = set()
    for pin in pins:
        name, start, end = _parts(pin)
        if name not in by_id:
            known = ", ".join(sorted(by_id)[:10])
            raise InputError(f"pin {pin!r} names no passage; passage ids are: {known}")
        held = {unit for index in by_id[name] for unit in candidates.units_in(index, start, end)}
        if not held and end is not None:
            raise InputError(f"pin {pin!r} lies outside of the text of its passage")
        pinned |= held
    return sorted(pinned)


def _parts(pin: object) -> tuple[str, int, int | None]:
    match pin:
        case str():
            return pin, 0, None
        case (str() as name, int() as start, int() as end) if 0 <= start < end:
            return name, start, end
        case _:
            raise InputError(
                f"pin {pin!r} is not allowed; give a passage id, or (passage id, start, end)"
            )
