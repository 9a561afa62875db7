"""InfiniRetri: a text of any length is read in windows, and the best so far is read along.

"Infinite Retrieval: Attention Enhanced LLMs in Long-Context Processing",
https://arxiv.org/abs/2502.12962, section 3: the text goes by in chunks; in each, the attention
of the query's rows, summed over neighbouring tokens, chooses the sentences that are kept, as text
and not as keys and values, and joined to the next chunk. With W_t the units of window t and C_t the
n best so far,

    C_t = top n of P(u | reading of C_{t-1} and W_t)

Here a sentence's tokens are summed instead of a fixed span of them, for a sentence is what is kept;
and the heads that read are the probed ones, not the whole last layer. What is carried to the end is
read once more, alone, so that its scores compare. Work is linear in the length of the text, memory
that of a window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import best_per_passage
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.blocks.segment import estimate_tokens

from .base import Candidates, Scorer, Scores
from .retrieval_heads import RetrievalHeads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

WINDOW_TOKENS = 1024
CARRIED = 16
"""Units that go on from window to window: more than a question needs, far fewer than a window."""


class Sliding(Scorer):
    """Scores the units of any amount of text, a window of it at a time.

    Args:
        window: Tokens of a window, roughly; a unit is never cut.
        carried: Units that are read along with the next window.
        inner: Scores a window; `RetrievalHeads` by default.

    Raises:
        InputError: A number is below 1.
    """

    name = "sliding"
    reads_itself = True

    def __init__(
        self, *, window: int = WINDOW_TOKENS, carried: int = CARRIED, inner: Scorer | None = None
    ) -> None:
        if window < 1 or carried < 1:
            raise InputError(
                f"a window of {window} tokens with {carried} units carried is not allowed; give 1 "
                "or more of both"
            )
        self.window, self.carried = window, carried
        self.inner = inner or RetrievalHeads()

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`. What was not carried to the end ranks behind what was."""
        units = np.zeros(len(candidates.units))
        carried: list[int] = []
        windows = list(_windows(candidates, self.window))
        none = 1.0
        for window in windows:
            shown = sorted({*carried, *window})
            units[shown], none = self._read(candidates, shown)
            carried = sorted(shown, key=lambda unit: (-units[unit], unit))[: self.carried]
        if len(windows) > 1:
            last, none = self._read(candidates, sorted(carried))
            units *= 0.5 * float(last.min(initial=1.0))
            units[sorted(carried)] = last
        return Scores(units, best_per_passage(candidates, units), none)

    def _read(
        self, candidates: Candidates, shown: Sequence[int]
    ) -> tuple[NDArray[np.float64], float]:
        """Scores of some units, read together and without all others."""
        excerpts = list(_excerpts(candidates, shown))
        together = candidates.over([passage for passage, _ in excerpts])
        scores = self.inner.score(together)
        # An excerpt may be cut into other units than its passage: what covers a unit counts for it.
        found = []
        for number, (_, spans) in enumerate(excerpts):
            for start, end in spans:
                over = together.units_in(number, start, end)
                found.append(float(scores.units[over.start : over.stop].max(initial=0.0)))
        return np.array(found), scores.nothing


def _windows(candidates: Candidates, size: int) -> Iterator[list[int]]:
    """Consecutive units, about `size` tokens of them at a time."""
    window: list[int] = []
    tokens = 0
    for unit, text in enumerate(candidates.texts):
        cost = estimate_tokens(text)
        if window and tokens + cost > size:
            yield window
            window, tokens = [], 0
        window.append(unit)
        tokens += cost
    if window:
        yield window


def _excerpts(
    candidates: Candidates, shown: Sequence[int]
) -> Iterator[tuple[Passage, list[tuple[int, int]]]]:
    """Runs of neighbouring units as passages, and where in it each of them stands."""
    runs: list[list[int]] = []
    for unit in shown:
        owner = candidates.owners[unit]
        if runs and runs[-1][-1] == unit - 1 and candidates.owners[unit - 1] == owner:
            runs[-1].append(unit)
        else:
            runs.append([unit])
    for run in runs:
        whole = candidates.passages[candidates.owners[run[0]]]
        first = candidates.units[run[0]].start
        spans = [(candidates.units[u].start - first, candidates.units[u].end - first) for u in run]
        yield Passage(whole.text[first : first + spans[-1][1]], title=whole.title), spans
