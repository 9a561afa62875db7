"""Means with their uncertainty: seeded bootstrap over records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

RESAMPLES = 2000
BOUNDS = (0.025, 0.975)


def interval(values: Sequence[float], seed: int = 0) -> list[float]:
    """95% bootstrap interval of the mean, seeded."""
    data = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(seed).integers(0, len(data), (RESAMPLES, len(data)))
    return [round(float(q), 4) for q in np.quantile(data[picks].mean(1), BOUNDS)]


def paired(
    ours: Sequence[float | None], theirs: Sequence[float | None], seed: int = 0
) -> dict[str, float | list[float]] | None:
    """Mean difference over the records that both have, and its interval: {mean, ci, n}."""
    both = zip(ours, theirs, strict=True)
    gains = [a - b for a, b in both if a is not None and b is not None]
    if not gains:
        return None
    mean = round(float(np.mean(gains)), 4)
    return {"mean": mean, "ci": interval(gains, seed), "n": len(gains)}


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Chance that a positive scores above a negative, ties half; None without both."""
    if len(set(positive)) < 2:
        return None
    from sklearn.metrics import roc_auc_score

    return round(float(roc_auc_score(positive, scores)), 4)


def auc_interval(
    scores: Sequence[float], positive: Sequence[bool], seed: int = 0, resamples: int = 500
) -> list[float]:
    """95% bootstrap interval of `auc`; both kinds are drawn in their own number."""
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    rng = np.random.default_rng(seed)
    kinds = [np.flatnonzero(labels), np.flatnonzero(~labels)]
    found = []
    for _ in range(resamples):
        picks = np.concatenate([rng.choice(kind, len(kind)) for kind in kinds])
        found.append(auc(values[picks].tolist(), labels[picks].tolist()))
    return [round(float(q), 4) for q in np.quantile(np.asarray(found, dtype=float), BOUNDS)]
