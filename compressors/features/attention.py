"""Features of a reading: what the query looks at."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from foveate.compressors.grouped import sum_by
from foveate.compressors.ranking import (
    TINY,
    head_ranking,
    looked,
    odds,
    over_heads,
    share_ranking,
    standardise,
)

from .base import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.reading import Reading


class Attention(Units):
    """What one reading says of each unit and of the whole."""

    @cached_property
    def attention(self) -> NDArray[np.float64]:
        """Log attention mass, standardised for each head, averaged over heads."""
        return head_ranking(self.candidates.reading.mass)

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Log of each head's share of attention, averaged over heads; standardised."""
        return standardise(share_ranking(self.candidates.reading.mass))

    @cached_property
    def looked(self) -> NDArray[np.float64]:
        """Log attention mass over the shared head's, averaged over probed heads. Absolute."""
        return looked(self.candidates.reading)

    @cached_property
    def odds(self) -> NDArray[np.float64]:
        """As `looked`, but high where one head looks. Absolute."""
        return odds(self.candidates.reading)

    @cached_property
    def density(self) -> NDArray[np.float64]:
        """Attention mass per token: Sentinel's mean in place of a sum. Standardised."""
        reading = self.candidates.reading
        return head_ranking(reading.mass / np.maximum(reading.tokens, 1))

    @cached_property
    def peak(self) -> NDArray[np.float64]:
        """As `attention`, of the query row that looked most."""
        return head_ranking(self.candidates.reading.peak)

    @cached_property
    def last(self) -> NDArray[np.float64]:
        """As `attention`, of the last query row, which predicts the answer."""
        return head_ranking(self.candidates.reading.last)

    @cached_property
    def title_attention(self) -> NDArray[np.float64]:
        """Log attention on the passage's title line, standardised over passages."""
        return self.on_titles(self.candidates.reading)

    @cached_property
    def passage_attention(self) -> NDArray[np.float64]:
        """Log attention on the whole passage, standardised over passages."""
        reading = self.candidates.reading
        count = len(self.candidates.passages)
        whole = np.stack([sum_by(self.owners, row, count) for row in reading.mass])
        return head_ranking(whole + reading.titles)[self.owners]

    @cached_property
    def near_attention(self) -> NDArray[np.float64]:
        """Mean `attention` of the units before and behind it in its passage."""
        return self.near(self.attention)

    @cached_property
    def beside(self) -> NDArray[np.float64]:
        """Highest `attention` of the other units of its passage; its own where it has none."""
        best = self.attention.copy()
        for owner in np.unique(self.owners):
            here = np.flatnonzero(self.owners == owner)
            if len(here) > 1:
                ranked = np.sort(self.attention[here])
                top = self.attention[here] == ranked[-1]
                best[here] = np.where(top, ranked[-2], ranked[-1])
        return best

    @cached_property
    def intensity(self) -> NDArray[np.float64]:
        """Log attention mass of all units over their tokens; one value for all. Absolute."""
        reading = self.candidates.reading
        total = np.log(reading.mass.sum(1) / max(int(reading.tokens.sum()), 1) + TINY)
        return np.full(len(self.owners), float(total.mean()))

    @cached_property
    def over_baseline(self) -> NDArray[np.float64]:
        """Log attention mass of all units over what a content-free query gives; one value for all.

        The calibration of in-context reranking, https://arxiv.org/abs/2410.02642, section 3.2, as a
        ratio. Absolute.
        """
        reading = self.candidates.reading
        over = np.log(reading.mass.sum(1) + TINY) - np.log(reading.baseline.sum(1) + TINY)
        return np.full(len(self.owners), float(over.mean()))

    def on_titles(self, reading: Reading) -> NDArray[np.float64]:
        """Log attention of a reading on title lines, standardised over passages: (units,)."""
        return over_heads(standardise(np.log(reading.titles + TINY)))[self.owners]
