"""Logistic regression: a handful of features to a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Logistic:
    """A score's way to a probability: 1 / (1 + exp(-(weights . features + bias)))."""

    weights: Mapping[str, float]
    bias: float

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.weights)

    def probability(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of each row of (rows, features), columns in the order of the weights."""
        return sigmoid(features @ np.array(list(self.weights.values())) + self.bias)


def sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def logit(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(p / (1 - p)), finite at 0 and 1."""
    clipped = np.clip(chances, EDGE, 1 - EDGE)
    odds: NDArray[np.float64] = np.log(clipped) - np.log1p(-clipped)
    return odds
