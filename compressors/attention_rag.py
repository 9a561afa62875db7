"""AttentionRAG: what the model looks at when the answer has begun and one token is to follow.

Fang et al., "AttentionRAG: Attention-Guided Context Pruning in Retrieval-Augmented Generation",
https://arxiv.org/abs/2503.10720, section 3. The question becomes the start of an answer, so that
the focus falls on one next token, the anchor. For each chunk, with a_h the anchor row's attention
in head h,

    A_j = sum over heads of a_h(j);    keep the sentences that hold one of the top k tokens by A_j

and chunks on which the model would answer "none" are dropped.

Here the answer's start is made by rules (see `answer_prefix`), a passage is a chunk, and one
reading holds the anchor row of all chunks: blocks are blind to each other and overlaid, and the
ratio between a chunk and the shared head is the same in one row whether other chunks stand beside
it or not. The sum runs over the heads of the layers in `BAND`, where the row that predicts the next
token looks at evidence; it is read with the unadapted model.

A decoded "none" would take a forward through all layers for each chunk; the gate in its place asks
whether the anchor row looks at the chunk, against the shared head, which says "nothing here", more
than the anchor row q0 of a query that asks nothing:

    mean over heads of log(a(chunk) / a(head)) - log(a_q0(chunk) / a_q0(head)) > margin

Dropped chunks and sentences without a top token are not lost: they rank behind, below 1/2.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import best_per_passage
from foveate.blocks.errors import InputError
from foveate.blocks.head import CONTENT_FREE_QUERY

from .answer_prefix import FALLBACK, answer_prefix
from .base import Candidates, Scorer, Scores
from .every_head import every_head
from .grouped import sum_by
from .logistic import sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from foveate.blocks.by_token import TokenAttention
    from foveate.blocks.reading import Head

TOP_SHARE = 0.04
"""Tokens of a chunk that count as attended: the paper's 12 of 300."""

BAND = (0.66, 0.9)
"""Layers whose heads count, as shares of the depth: later than those that read the question."""

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
        wide = candidates.read_by(every_head(candidates.reader))
        asked = wide.read(
            wide.query, answer_prefix=answer_prefix(wide.query), by_token=True
        ).by_token
        free = wide.read(CONTENT_FREE_QUERY, answer_prefix=FALLBACK, by_token=True).by_token
        assert asked is not None
        assert free is not None
        heads = late_heads(wide.reader.heads)
        inside = asked.units >= 0
        attention = asked.last[heads][:, inside].sum(0, dtype=np.float64)
        units, passages = asked.units[inside], asked.passages[inside]
        margins = gate_margins(asked, free, heads, len(candidates.passages)) - self.margin
        top = top_tokens(attention, passages, self.top_share) & (margins > 0)[passages]
        count = len(candidates.units)
        scores = _two_tiers(
            sum_by(units[top], attention[top], count), sum_by(units, attention, count)
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
    for start, stop in pairwise(edges.tolist()):
        best = np.argsort(-attention[start:stop], kind="stable")
        top[start + best[: math.ceil(share * (stop - start))]] = True
    return top


def gate_margins(
    asked: TokenAttention, free: TokenAttention, heads: list[int], passages: int
) -> NDArray[np.float64]:
    """How much more the anchor row looks at each chunk than that of a query that asks nothing.

    In log odds against the shared head, averaged over heads; minus infinity for a passage without
    units: (passages,).
    """
    inside = asked.units >= 0
    owners = asked.passages[inside]

    def log_odds(tokens: TokenAttention, head: int) -> NDArray[np.float64]:
        seen = sum_by(owners, tokens.last[head, inside], passages)
        odds: NDArray[np.float64] = np.log(seen + _TINY) - np.log(tokens.last_head[head] + _TINY)
        return odds

    gains = [log_odds(asked, head) - log_odds(free, head) for head in heads]
    has_units = np.bincount(owners, minlength=passages) > 0
    margins: NDArray[np.float64] = np.where(has_units, np.mean(gains, axis=0), -np.inf)
    return margins


def late_heads(heads: Sequence[Head]) -> list[int]:
    """Places of the heads whose layers lie in `BAND`; of the last layer's in a shallow model."""
    depth = max(layer for layer, _ in heads) + 1
    first, stop = int(BAND[0] * depth) + 1, math.ceil(BAND[1] * depth)
    layers = set(range(first, stop)) or {depth - 1}
    return [place for place, (layer, _) in enumerate(heads) if layer in layers]


def _two_tiers(
    attended: NDArray[np.float64], attention: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Above 1/2 the units with top tokens, by what those got; below it the others, by all."""
    upper = 0.5 + 0.5 * attended / (attended.max(initial=0.0) or 1.0)
    lower = 0.5 * attention / (attention.max(initial=0.0) or 1.0)
    scores: NDArray[np.float64] = np.where(attended > 0, upper, lower)
    return scores
