"""What the parts of the segmenter pass to each other: a text made ready, units in the making."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .estimate import Ruler
from .lines import Line, read_lines

if TYPE_CHECKING:
    from ..passage import UnitKind


@dataclass(frozen=True, slots=True)
class Source:
    """A text made ready to be cut.

    Attributes:
        text: The whole text.
        lines: Its visible lines.
        blocks: Numbers of the lines with a blank line before them.
        ruler: Laid along the text.
        language: Chooses the sentence rules.
    """

    text: str
    lines: list[Line]
    blocks: list[int]
    ruler: Ruler
    language: str

    @classmethod
    def of(cls, text: str, language: str) -> Source:
        """Read `text` once."""
        lines = read_lines(text)
        blocks = [number for number, line in enumerate(lines) if line.gap]
        return cls(text, lines, blocks, Ruler.of(text), language)

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
        block = bisect_right(self.blocks, number)
        return self.blocks[block] if block < len(self.blocks) else len(self.lines)


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
