"""Attention sorting: passages by the attention they receive, highest last.

Peysakhovich and Lerer, "Attention Sorting Combats Recency Bias In Long Context Language Models",
https://arxiv.org/abs/2310.01427, algorithm 1. One decoding step gives each document the attention
of the row that predicts the next token, averaged over heads, layers and the document's tokens;
documents are sorted so that the most attended stands last, nearest to the question.

Here the row comes from the proxy's reading. Blocks are overlaid there: they share positions, so
the attention does not depend on the order they stand in, and the first sort is already the stable
one.
"""

from __future__ import annotations

import numpy as np

from .base import Candidates, Orderer, Scores


class AttentionSorting(Orderer):
    """Sorts by attention per token of the last query row, over the proxy's probed heads."""

    name = "attention-sorting"
    reads = True

    def order(self, candidates: Candidates, scores: Scores) -> list[int]:
        """See `Orderer.order`."""
        reading, count = candidates.reading, len(candidates.passages)
        received = np.bincount(reading.owners, weights=reading.last.mean(0), minlength=count)
        tokens = np.bincount(reading.owners, weights=reading.tokens, minlength=count)
        ascending: list[int] = np.argsort(received / np.maximum(tokens, 1), kind="stable").tolist()
        return ascending
