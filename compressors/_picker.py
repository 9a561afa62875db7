"""Takes units while they fit; what a unit depends on comes with it or it does not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Picker:
    """A selection in the making. Plain lists, for it runs over every unit several times a request.

    Args:
        owners: Passage of each unit.
        requires: For each unit, those without which it is not taken.
        units: Tokens of each unit.
        passages: Tokens that each passage costs with its first unit.
        limit: Tokens allowed.

    Attributes:
        reasons: The units taken, and why.
        spent: Their tokens.
    """

    def __init__(
        self,
        owners: Sequence[int],
        requires: Sequence[tuple[int, ...]],
        units: Sequence[int],
        passages: Sequence[int],
        limit: int,
    ) -> None:
        self.reasons: dict[int, str] = {}
        self.spent = 0
        self._owners, self._requires, self._units = owners, requires, units
        self._passages, self._limit = passages, limit
        self._opened: set[int] = set()

    def has_room_for(self, unit: int) -> bool:
        """Whether a unit alone would fit; if it does not now, it never will."""
        return self.spent + self._units[unit] <= self._limit

    def take(self, wanted: tuple[int, ...], reason: str, beside: str = "explains") -> bool:
        """Take units together, or none: the first for `reason`, the others because of it.

        True if they are there, as before or as of now.
        """
        first = wanted[0]
        if first in self.reasons and len(wanted) == 1:
            return True
        needed = [unit for unit in self._closure(wanted) if unit not in self.reasons]
        opened = {self._owners[unit] for unit in needed} - self._opened
        cost = sum(self._units[unit] for unit in needed)
        cost += sum(self._passages[owner] for owner in opened)
        if self.spent + cost > self._limit:
            return False
        self.spent += cost
        self._opened |= opened
        for unit in needed:
            why = beside if unit in wanted else "needed by"
            self.reasons[unit] = reason if unit == first else f"{why} unit {first}"
        return True

    def _closure(self, wanted: tuple[int, ...]) -> Sequence[int]:
        if len(wanted) == 1 and not self._requires[wanted[0]]:
            return wanted
        seen, stack = set(wanted), list(wanted)
        while stack:
            for other in self._requires[stack.pop()]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return sorted(seen)
