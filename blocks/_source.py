"""What the parts of the segmenter pass to each other: a text made ready, units in the making."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._estimate import Ruler
from ._lines import Line, read_lines

if TYPE_CHECKING:
    from .passage import UnitKind


@dataclass(frozen=True, slots=True)
class Source:
    """A text, its lines, its measure and its language."""

    text: str
    lines: list[Line]
    ruler: Ruler
    language: str

    @classmethod
    def of(cls, text: str, language: str) -> Source:
        """Read `text` once."""
        return cls(text, read_lines(text), Ruler.of(text), language)

    def shown(self, number: int) -> str:
        """Line `number` without margin, indentation and trailing white space."""
        line = self.lines[number]
        return self.text[line.body : line.end]

    def is_deeper(self, number: int, than: int) -> bool:
        """Whether line `number` follows without a blank line and is set in further than `than`."""
        if number >= len(self.lines) or self.lines[number].gap:
            return False
        return self.lines[number].indent > self.lines[than].indent

    def block_end(self, number: int) -> int:
        """The first line behind `number` with a blank line before it."""
        number += 1
        while number < len(self.lines) and not self.lines[number].gap:
            number += 1
        return number


@dataclass(frozen=True, slots=True)
class Draft:
    """A unit in the making: it ends where the next one starts.

    Attributes:
        start: Its first visible character.
        kind: What it is.
        needs: Starts of earlier drafts without which it cannot be understood.
    """

    start: int
    kind: UnitKind = "sentence"
    needs: tuple[int, ...] = ()
