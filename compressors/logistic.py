"""Logistic regression: a handful of features to a probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .probes import Logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_STEPS = 50


def probability(features: NDArray[np.float64], model: Logistic) -> NDArray[np.float64]:
    """Probability of each row of (rows, features), columns in the order of the weights."""
    return sigmoid(features @ np.array(list(model.weights.values())) + model.bias)


def sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def fit(
    names: tuple[str, ...],
    features: NDArray[np.float64],
    labels: NDArray[np.float64],
    *,
    l2: float = 1.0,
) -> Logistic:
    """Maximum likelihood with an L2 penalty on the weights, by Newton's method. Deterministic.

    Args:
        names: Name of each column.
        features: (rows, columns).
        labels: 1 or 0, shape (rows,).
        l2: Strength of the penalty; the bias is free.
    """
    rows = np.column_stack([features, np.ones(len(features))])
    penalty = np.full(rows.shape[1], l2)
    penalty[-1] = 0.0
    weights = np.zeros(rows.shape[1])
    for _ in range(MAX_STEPS):
        chance = sigmoid(rows @ weights)
        gradient = rows.T @ (chance - labels) + penalty * weights
        curvature = (rows.T * (chance * (1 - chance))) @ rows + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return Logistic(dict(zip(names, weights[:-1].tolist(), strict=True)), float(weights[-1]))
