"""Fitting the weights of `sentinel`, as its paper does.

Class-balanced logistic regression (liblinear, L2), its strength chosen by five-fold
cross-validation: https://arxiv.org/abs/2505.23277, section 3.3. Folds are grouped by question, so
that no question stands on both sides. Every unit of a record is a row, where the paper draws one
sentence with the answer and one without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.errors import InputError, MissingExtraError
from foveate.compressors.every_head import every_head
from foveate.compressors.logistic import Logistic
from foveate.compressors.probes import Probe
from foveate.compressors.sentinel import NAME, feature_names, features

from .table import readings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from foveate.blocks.progress import Progress
    from foveate.blocks.proxy import Proxy
    from foveate.compressors.examples import Example

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Inverse strengths of the penalty to choose from: the paper's."""

FOLDS = 5
MAX_STEPS = 2000
DIGITS = 6


def train_sentinel(
    proxy: Proxy,
    examples: Sequence[Example],
    *,
    source: str,
    seed: int = 0,
    progress: Progress | None = None,
) -> Probe:
    """Fit the weights for a model; save it at `sentinel.own_path(probe.fingerprint)`.

    Args:
        proxy: The model; its own heads do not matter.
        examples: Records with known evidence; five or more, of different questions.
        source: Name of the sets, for the record.
        seed: Of the solver.
        progress: Told the stage and how far it is.

    Raises:
        InputError: There are too few records whose evidence is a part of their units.
        MissingExtraError: scikit-learn is not installed.
    """
    wide = every_head(proxy)
    rows, labels, groups = sentinel_rows(wide, examples, progress)
    model, chosen = fit_sentinel(rows, labels, groups, feature_names(wide.heads), seed=seed)
    return Probe(
        model=wide.name,
        fingerprint=wide.fingerprint,
        heads=wide.heads,
        scorers={NAME: model},
        provenance={"source": source, "records": len(set(groups.tolist())), **chosen},
    )


def sentinel_rows(
    wide: Proxy,
    examples: Sequence[Example],
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Features (rows, heads), whether each row is evidence, and the number of its question."""
    questions = {q: n for n, q in enumerate(dict.fromkeys(e.question for e in examples))}
    rows: list[NDArray[np.float64]] = []
    labels: list[NDArray[np.bool_]] = []
    groups: list[int] = []
    for example, reading, positive in readings(wide, examples, "read", progress):
        rows.append(features(reading))
        labels.append(positive)
        groups += [questions[example.question]] * len(positive)
    if len(set(groups)) < FOLDS:
        raise InputError(
            f"{len(set(groups))} questions have units with and without evidence; "
            f"give at least {FOLDS}"
        )
    return np.concatenate(rows), np.concatenate(labels), np.array(groups)


def fit_sentinel(
    rows: NDArray[np.float64],
    labels: NDArray[np.bool_],
    groups: NDArray[np.int64],
    names: Sequence[str],
    *,
    seed: int = 0,
) -> tuple[Logistic, dict[str, Any]]:
    """Weights on the features as they are, and how they were chosen.

    Args:
        rows: (rows, features).
        labels: Whether each row is evidence.
        groups: Number of the question of each row.
        names: Name of each feature.
        seed: Of the solver.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GroupKFold, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as missing:
        raise MissingExtraError("scikit-learn", "train") from missing

    def probe(strength: float) -> Any:
        regression = LogisticRegression(
            C=strength,
            solver="liblinear",
            class_weight="balanced",
            max_iter=MAX_STEPS,
            random_state=seed,
        )
        return make_pipeline(StandardScaler(), regression)

    def auc(strength: float) -> float:
        folds = GroupKFold(FOLDS)
        scores = cross_val_score(
            probe(strength), rows, labels, groups=groups, cv=folds, scoring="roc_auc"
        )
        return float(np.mean(scores))

    aucs = {strength: auc(strength) for strength in STRENGTHS}
    best = max(aucs, key=lambda strength: aucs[strength])
    scaler, regression = (step for _, step in probe(best).fit(rows, labels).steps)
    # The scaling goes into the weights: what is shipped is one weight a head.
    weights = regression.coef_[0] / scaler.scale_
    bias = float(regression.intercept_[0] - weights @ scaler.mean_)
    kept = [float(f"{weight:.{DIGITS}g}") for weight in weights]
    chosen = {"C": best, "rows": len(rows), "seed": seed, "cv_auc": round(aucs[best], 4)}
    return Logistic(dict(zip(names, kept, strict=True)), round(bias, DIGITS)), chosen
