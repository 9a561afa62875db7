"""A request's selections, rendered and counted: each text once, what is alike never again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.compressors.selection import Costs

from .render import ELISION, SEPARATOR, Style, excerpt, header, render, without

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from foveate.blocks.candidates import Candidates
    from foveate.blocks.counting import TokenCounter

Span = tuple[int, int]


class Sheet:
    """What a selection looks like, and how many tokens it takes.

    Args:
        candidates: The units.
        order: A permutation of the passages.
        style: Layout of the text.
        count: Counts tokens the caller's way.
        untitled: Passages whose title is left out.
        spare: For some units, spans that are left out of them when they are kept.
    """

    def __init__(
        self,
        candidates: Candidates,
        order: Sequence[int],
        style: Style,
        count: TokenCounter,
        untitled: Collection[int] = (),
        spare: Mapping[int, tuple[Span, ...]] | None = None,
    ) -> None:
        self.style, self.untitled = style, frozenset(untitled)
        self._candidates, self._order, self._count = candidates, order, count
        self._owners = candidates.owners.tolist()
        self._spans = [(unit.start, unit.end) for unit in candidates.units]
        self.spare = spare or {}
        self._spared: dict[int, list[Span]] = {}
        for unit in sorted(self.spare):
            self._spared.setdefault(self._owners[unit], []).extend(self.spare[unit])
        self._exact: dict[tuple[int, ...], int] = {}
        self._parts: dict[tuple[int, tuple[Span, ...]], int] = {}

    def without_title_of(self, passage: int) -> Sheet:
        """The same sheet, but for one title."""
        untitled = {*self.untitled, passage}
        return Sheet(self._candidates, self._order, self.style, self._count, untitled, self.spare)

    def text(self, kept: Sequence[int]) -> str:
        """The selection, rendered."""
        spans = self._by_passage(kept)
        order = [i for i in self._order if i in spans]
        passages = self._candidates.passages
        return render(passages, spans, order, self.style, self.untitled, self._spared)

    def tokens(self, kept: tuple[int, ...]) -> int:
        """Tokens of `text`, as the caller counts them."""
        if kept not in self._exact:
            text = self.text(kept)
            self._exact[kept] = self._count(text) if text else 0
        return self._exact[kept]

    def guess(self, kept: Sequence[int]) -> int:
        """Tokens of `text` but for what joins its passages: the sum of theirs, each counted once.

        Between two selections that are alike most passages are, so this is cheap where `tokens` is
        not, and off by almost the same.
        """
        return sum(self._part(i, tuple(spans)) for i, spans in self._by_passage(kept).items())

    def costs(self) -> Costs:
        """Tokens of each unit as it will stand in running text: after a space, before a mark."""
        known: dict[str, int] = {}
        texts = [self._shown(unit) for unit in range(len(self._candidates.units))]
        for text in texts:
            if text not in known:
                # One space or line break behind a unit joins the next; longer white space counts.
                shown = text.strip()
                known[text] = self._count(" " + shown if len(text) - len(shown) < 2 else text)
        mark = self._count(f" {ELISION}")
        units = [known[text] + mark for text in texts]
        passages = [
            # One mark too many was counted: it stands between units alone.
            max(0, self._count(SEPARATOR + self._header(i)) - mark)
            for i in range(len(self._candidates.passages))
        ]
        return Costs(np.array(units, dtype=np.int64), np.array(passages, dtype=np.int64))

    def _shown(self, unit: int) -> str:
        text = self._candidates.texts[unit]
        if unit not in self.spare:
            return text
        first = self._spans[unit][0]
        gone = [(start - first, end - first) for start, end in self.spare[unit]]
        return "".join(text[start:end] for start, end in without((0, len(text)), gone))

    def _header(self, index: int) -> str:
        titled = index not in self.untitled
        return header(self._candidates.passages[index], index, self.style, titled=titled)

    def _by_passage(self, kept: Sequence[int]) -> dict[int, list[Span]]:
        spans: dict[int, list[Span]] = {}
        for unit in kept:
            spans.setdefault(self._owners[unit], []).append(self._spans[unit])
        return spans

    def _part(self, index: int, spans: tuple[Span, ...]) -> int:
        key = (index, spans)
        if key not in self._parts:
            text = self._candidates.passages[index].text
            shown = excerpt(text, spans, self._spared.get(index, ()))
            self._parts[key] = self._count(self._header(index) + shown + SEPARATOR)
        return self._parts[key]
