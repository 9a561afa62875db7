"""How well attention alone ranks evidence: the figure by which a training is steered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.candidates import Candidates
from foveate.compressors.examples import gold_units
from foveate.compressors.ranking import share_ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from foveate.blocks.proxy import Proxy
    from foveate.compressors.examples import Example


def average_precision(proxy: Proxy, model: Any, examples: Sequence[Example]) -> float:
    """Mean average precision of the units ranked by the attention of a proxy's heads.

    Args:
        proxy: Lays out the prompt and names the heads.
        model: The weights that read.
        examples: Records with known evidence.
    """
    reader = proxy.with_model(model)
    found = []
    for example in examples:
        candidates = Candidates(example.question, example.passages, proxy=reader)
        gold = gold_units(candidates, (*example.gold, *example.any_of))
        if gold.any():
            found.append(precision(share_ranking(candidates.reading.mass), gold))
        reader.store.clear()
    return float(np.mean(found))


def precision(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Average precision of one ranking."""
    ranked = positive[np.argsort(-scores, kind="stable")]
    hits = np.flatnonzero(ranked)
    return float(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))
