"""Means with their uncertainty: seeded bootstrap over records."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")
Value = Callable[[T, str], Any]
"""What a record has under a label; None for nothing."""

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


def averages(
    each: Sequence[T], labels: Sequence[str], value: Value[T], seed: int = 0
) -> tuple[dict[str, float | None], dict[str, list[float] | None]]:
    """Mean of each label over the records that have it, and its interval; None where none has."""
    means: dict[str, float | None] = {}
    intervals: dict[str, list[float] | None] = {}
    for label in labels:
        values = [v for one in each if (v := value(one, label)) is not None]
        means[label] = round(fmean(values), 4) if values else None
        intervals[label] = interval(values, seed) if values else None
    return means, intervals


def differences(
    ours: Mapping[str, T],
    theirs: Mapping[str, T],
    labels: Sequence[str],
    value: Value[T],
    seed: int = 0,
) -> dict[str, Any]:
    """Paired difference of each label, over the records of both."""
    shared = [record for record in ours if record in theirs]
    return {
        label: paired(
            [value(ours[record], label) for record in shared],
            [value(theirs[record], label) for record in shared],
            seed,
        )
        for label in labels
    }


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
