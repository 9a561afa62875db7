"""AttentionRAG: what the model looks at when the answer has begun and one token is to follow.

Fang et al., "AttentionRAG: Attention-Guided Context Pruning in Retrieval-Augmented Generation",
https://arxiv.org/abs/2503.10720, section 3. The question becomes the start of an answer, so that
the focus falls on one next token, the anchor. For each chunk, with a_h the anchor row's attention
in head h,

    A_j = sum over heads of a_h(j);    keep the sentences that hold one of the top k tokens by A_j

and chunks on which the model would answer "none" are dropped.

Here the answer's start is made by rules (see `answer_prefix`), the heads are those chosen for the
proxy, a passage is a chunk, and one reading holds all anchor rows: blocks are blind to each other
and overlaid, and the ratio between a chunk and the shared head in one row is the same whether
other chunks stand beside it or not. That ratio is the gate in place of a decoded "none", which
would take the layers above the reading: a chunk stays if the anchor row looks at it, against the
head that says "nothing here", more than a query that asks nothing does:

    log(a(chunk) / a(head)) - log(a0(chunk) / a0(head)) > margin, averaged over heads

Dropped chunks and sentences without a top token are not lost: they rank behind, below 1/2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import best_per_passage
from foveate.blocks.errors import InputError

from .answer_prefix import answer_prefix
from .base import Candidates, Scorer, Scores
from .logistic import sigmoid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.reading import Reading

TOP_SHARE = 0.04
"""Tokens of a chunk that count as attended: the paper's 12 of 300."""

MARGIN = 0.0

_TINY = 1e-9


class AttentionRAG(Scorer):
    """Sentences that hold what the anchor row attends to.

    Args:
        top_share: Share of each chunk's tokens that count as attended, in (0, 1].
        margin: How far above a query that asks nothing a chunk must draw the anchor row; higher
            drops more.

    Raises:
        InputError: The share is none.
    """

    name = "attention-rag"
    reads_itself = True

    def __init__(self, *, top_share: float = TOP_SHARE, margin: float = MARGIN) -> None:
        if not 0 < top_share <= 1:
            raise InputError(f"top_share {top_share!r} is not allowed; give one in (0, 1]")
        self.top_share, self.margin = top_share, margin

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        reading = candidates.read(
            candidates.query, answer_prefix=answer_prefix(candidates.query), by_token=True
        )
        tokens = reading.by_token
        assert tokens is not None
        inside = tokens.units >= 0
        attention = tokens.last[:, inside].sum(0, dtype=np.float64)
        units, passages = tokens.units[inside], tokens.passages[inside]
        margins = gate_margins(reading, len(candidates.passages)) - self.margin
        top = top_tokens(attention, passages, self.top_share) & (margins > 0)[passages]
        count = len(candidates.units)
        scores = _two_tiers(
            np.bincount(units[top], attention[top], count), np.bincount(units, attention, count)
        )
        nothing = float(sigmoid(-margins.max(initial=-np.inf)))
        return Scores(scores, best_per_passage(candidates, scores), nothing)


def top_tokens(
    attention: NDArray[np.float64], passages: NDArray[np.int64], share: float
) -> NDArray[np.bool_]:
    """The most attended tokens of each passage, `share` of its tokens and one at least: (tokens,).

    Args:
        attention: A_j of each token: (tokens,).
        passages: Passage of each token, never decreasing: (tokens,).
        share: Share of a passage's tokens.
    """
    top = np.zeros(len(attention), dtype=np.bool_)
    edges = np.flatnonzero(np.diff(passages, prepend=-1, append=-1))
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        best = np.argsort(-attention[start:stop], kind="stable")
        top[start + best[: math.ceil(share * (stop - start))]] = True
    return top


def gate_margins(reading: Reading, passages: int) -> NDArray[np.float64]:
    """How much more the anchor row looks at each chunk than a query that asks nothing: (passages,).

    In log odds against the shared head, averaged over heads; minus infinity without units.
    """
    tokens = reading.by_token
    assert tokens is not None
    odds = reading.last / np.maximum(tokens.last_head, _TINY)[:, None]
    free = reading.baseline / np.maximum(reading.baseline_head, _TINY)
    has_units = np.bincount(reading.owners, minlength=passages) > 0
    gains = [
        np.log(np.bincount(reading.owners, asked, passages) + _TINY)
        - np.log(np.bincount(reading.owners, base, passages) + _TINY)
        for asked, base in zip(odds, free, strict=True)
    ]
    margins: NDArray[np.float64] = np.where(has_units, np.mean(gains, axis=0), -np.inf)
    return margins


def _two_tiers(
    attended: NDArray[np.float64], attention: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Above 1/2 the units with top tokens, by what those got; below it the others, by all."""
    upper = 0.5 + 0.5 * attended / (attended.max(initial=0.0) or 1.0)
    lower = 0.5 * attention / (attention.max(initial=0.0) or 1.0)
    scores: NDArray[np.float64] = np.where(attended > 0, upper, lower)
    return scores
