"""Units of passages seen before."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..passage import Unit

# A unit takes about as much memory as this many characters.
_UNIT_CHARS = 100


class UnitCache:
    """Units by text and language, least recently used out first, bounded in characters.

    Safe to share between threads.

    Args:
        max_chars: Most characters of all texts together, each unit counting a hundred more. A text
            that would take more than a quarter of this is not kept.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._units: OrderedDict[tuple[str, str | None], tuple[Unit, ...]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._units)

    def get(self, text: str, language: str | None) -> tuple[Unit, ...] | None:
        """The units of `text`, or None if they are not known."""
        with self._lock:
            units = self._units.get((text, language))
            if units is not None:
                self._units.move_to_end((text, language))
            return units

    def put(self, text: str, language: str | None, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """Keep and return `units`."""
        weight = _weight(text, units)
        if weight > self._max_chars // 4:
            return units
        with self._lock:
            if (text, language) not in self._units:
                self._units[text, language] = units
                self._chars += weight
            while self._chars > self._max_chars:
                (oldest, _), dropped = self._units.popitem(last=False)
                self._chars -= _weight(oldest, dropped)
        return units


def _weight(text: str, units: tuple[Unit, ...]) -> int:
    return len(text) + _UNIT_CHARS * len(units)
