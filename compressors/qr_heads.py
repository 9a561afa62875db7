"""In-context reranking by the heads that look for the query, less what any query would see.

Chen et al., "Attention in Large Language Models Yields Efficient Zero-Shot Re-Rankers" (ICR),
https://arxiv.org/abs/2410.02642, section 3; with chosen heads in place of all: Zhang et al.,
"Query-Focused Retrieval Heads", https://arxiv.org/abs/2506.09944, section 3. With a the attention
averaged over the query's rows and the chosen heads, q the query and q0 = "N/A",

    s_t = a_q(t) - a_q0(t),    S_d = sum of s_t over the tokens of d with s_t >= mean - 2 std in d

ranks passages d; the same sum over a unit's tokens ranks units. Both queries are read against the
same blocks: the second costs its own dozen rows.

The scores are shares of the best one's, not probabilities: order kept, what a query that asks
nothing would get as well is below `FLOOR`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.head import CONTENT_FREE_QUERY

from .base import Candidates, Scorer, Scores
from .grouped import sum_by
from .reattn import query_idf, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.by_token import TokenAttention

FLOOR = 0.05
"""Below it are those that got no more than a query that asks nothing would give them."""

DEVIATIONS = 2.0
"""Tokens this many deviations below their passage's mean are noise of the calibration."""


class QRHeads(Scorer):
    """Calibrated attention of the chosen heads, for passages first.

    Args:
        reattn: Weigh the attention again; see `reattn`.
    """

    name = "qr-heads"
    reads_itself = True

    def __init__(self, *, reattn: bool = False) -> None:
        self.reattn = reattn

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        asked, free = (
            candidates.read(query, by_token=True).by_token
            for query in (candidates.query, CONTENT_FREE_QUERY)
        )
        assert asked is not None
        assert free is not None
        gain = calibrated(asked, free)
        units, passages = len(candidates.units), len(candidates.passages)
        if self.reattn:
            gain = gain * query_idf(asked, candidates.query, candidates.reader.tokenizer)
        gain = np.where(kept_tokens(gain, asked.passages), gain, 0.0)
        inside = asked.units >= 0
        by_unit = sum_by(asked.units[inside], gain[inside], units)
        by_passage = sum_by(asked.passages, gain, passages)
        if self.reattn:
            seen = np.maximum(gain, 0.0)
            by_unit = by_unit * spread(seen[inside], asked.units[inside], units)
            by_passage = by_passage * spread(seen, asked.passages, passages)
        return Scores(in_shares(by_unit), in_shares(by_passage), _nothing(asked, free, by_passage))


def calibrated(asked: TokenAttention, free: TokenAttention) -> NDArray[np.float64]:
    """s_t of each token: (tokens,)."""
    gain: NDArray[np.float64] = (asked.mean - free.mean).mean(0, dtype=np.float64)
    return gain


def kept_tokens(gain: NDArray[np.float64], passages: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which tokens are not far below the mean of their passage: (tokens,)."""
    sizes = np.bincount(passages)
    count = np.maximum(sizes, 1)
    mean = sum_by(passages, gain, len(sizes)) / count
    centred = gain - mean[passages]
    deviation = np.sqrt(sum_by(passages, centred**2, len(sizes)) / count)
    kept: NDArray[np.bool_] = centred >= -DEVIATIONS * deviation[passages] - 1e-12
    return kept


def in_shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same order in [0, 1]: positive ones as shares of the best, the others below `FLOOR`."""
    best, least = float(values.max(initial=0.0)), float(values.min(initial=0.0))
    above = FLOOR + (1 - FLOOR) * np.maximum(values, 0.0) / (best or 1.0)
    below = FLOOR * (1.0 - np.minimum(values, 0.0) / (least or 1.0))
    shares: NDArray[np.float64] = np.where(values > 0, above, below)
    return shares


def _nothing(asked: TokenAttention, free: TokenAttention, score: NDArray[np.float64]) -> float:
    """Of what the best passage got, the share that a query that asks nothing gives it as well."""
    best = asked.passages == int(score.argmax())
    got, anyway = float(asked.mean[:, best].sum()), float(free.mean[:, best].sum())
    return min(1.0, anyway / got) if got > 0 else 1.0
