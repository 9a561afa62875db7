"""What anybody would try first, and the whole: baselines that are no methods of the product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import best_per_passage
from foveate.compressors.base import Candidates, Scorer, Scores
from foveate.rag.render import Style, render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foveate import Passage

Spans = dict[int, list[tuple[int, int]]]


class Lead(Scorer):
    """The beginnings: the first unit of each passage, then the second of each, and so on."""

    name = "lead"
    reads = False

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        place = np.arange(len(candidates.units)) - candidates.firsts[candidates.owners]
        rank = np.lexsort((candidates.owners, place))
        units = np.empty(len(rank))
        units[rank] = np.linspace(1.0, 0.5, num=len(rank))
        return Scores(units, best_per_passage(candidates, units), nothing=0.0)


def whole(passages: Sequence[Passage]) -> Spans:
    """Everything."""
    return {i: [(0, len(p.text))] for i, p in enumerate(passages)}


def truncated(passages: Sequence[Passage], limit: int, count: Callable[[str], int]) -> Spans:
    """The passages one after another, cut at the last character within the limit."""
    low, high = 0, sum(len(p.text) for p in passages)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text_of(passages, _first(passages, middle))) <= limit:
            low = middle
        else:
            high = middle - 1
    return _first(passages, low)


def text_of(passages: Sequence[Passage], spans: Spans) -> str:
    """Spans as the product renders them."""
    return render(passages, spans, sorted(spans), Style())


def _first(passages: Sequence[Passage], characters: int) -> Spans:
    spans: Spans = {}
    for i, passage in enumerate(passages):
        if characters <= 0:
            break
        spans[i] = [(0, min(characters, len(passage.text)))]
        characters -= len(passage.text)
    return spans
