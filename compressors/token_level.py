"""Words dropped inside of what stays, for budgets in which whole sentences no longer fit.

LLMLingua (https://arxiv.org/abs/2310.05736, section 3.3) and LongLLMLingua drop tokens by how much
a model expects them; here what decides is the attention that the question pays to each word, read
from the same blocks by the same heads as all else. What must not go is in `shortening`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .base import Candidates, Scorer, Scores
from .fused import Fused
from .lexical import terms
from .shortening import shorter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from foveate.blocks.passage import Span


class TokenLevel(Scorer):
    """Another scorer's relevance, and for each sentence the words that it can do without.

    Args:
        inner: Scores the units; `Fused` by default.
    """

    name = "token-level"

    def __init__(self, *, inner: Scorer | None = None) -> None:
        self.inner = inner or Fused()

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`; `Scores.spare` says what can be left out of each unit."""
        return replace(self.inner.score(candidates), spare=spare(candidates))


def spare(candidates: Candidates) -> Mapping[int, tuple[Span, ...]]:
    """For each sentence, what can be left out of it: spans in its passage's text."""
    query = frozenset(terms(candidates.query))
    worth = worth_of_characters(candidates)
    found: dict[int, tuple[Span, ...]] = {}
    for unit, (owner, each) in enumerate(
        zip(candidates.owners.tolist(), candidates.units, strict=True)
    ):
        if each.kind not in ("sentence", "list_item"):
            continue
        cuts = shorter(candidates.texts[unit], worth[owner][each.start : each.end], query)
        if cuts:
            found[unit] = tuple((each.start + a, each.start + b) for a, b in cuts)
    return found


def worth_of_characters(candidates: Candidates) -> list[NDArray[np.float64]]:
    """Attention on each character of each passage, averaged over heads of equal weight.

    A token's attention counts for each of its characters. Where tokens of a passage cannot be
    matched with its text, all are worth the same.
    """
    seen = candidates.read(candidates.query, by_token=True).by_token
    worth = [np.ones(len(passage.text)) for passage in candidates.passages]
    if seen is None:
        return worth
    inside = seen.units >= 0
    totals = np.maximum(seen.mean[:, inside].sum(1, keepdims=True), 1e-9)
    attention = (seen.mean[:, inside] / totals).mean(0)
    owners, ids = seen.passages[inside], seen.ids[inside]
    for index, passage in enumerate(candidates.passages):
        here = owners == index
        tokens = candidates.reader.tokenizer.encode_text(passage.text)
        # A block ends with what parts it from the next; a text in several blocks is cut elsewhere.
        if not np.array_equal(ids[here][: len(tokens)], tokens.ids):
            continue
        values = attention[here][: len(tokens)]
        for start, end, value in zip(tokens.starts, tokens.ends, values, strict=True):
            worth[index][start:end] = value
    return worth
