"""Gradient-boosted trees, evaluated: a sum of small trees to a probability.

Friedman, "Greedy Function Approximation: A Gradient Boosting Machine" (2001), algorithm 5. Trained
by scikit-learn, kept as plain numbers in a probe file, and evaluated here for all rows and trees at
once, so that reading a probe needs neither pickle nor scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .logistic import sigmoid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Boosted:
    """Trees over named features.

    Attributes:
        features: Names of the columns.
        trees: For each tree "feature", "threshold", "left", "right", "value", one entry a node; a
            row goes left where its feature is at most the threshold, and a leaf leads to itself.
        bias: Added to the sum of the leaves.
    """

    features: Sequence[str]
    trees: Sequence[Mapping[str, Sequence[float]]]
    bias: float

    def probability(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of each row of (rows, features)."""
        if not len(features):
            return np.zeros(0)
        column, threshold, left, right, value = self._nodes
        trees = np.arange(len(self.trees))
        rows = np.arange(len(features))[:, None]
        at = np.zeros((len(features), len(trees)), dtype=np.intp)
        for _ in range(self._depth):
            goes_left = features[rows, column[trees, at]] <= threshold[trees, at]
            at = np.where(goes_left, left[trees, at], right[trees, at])
        return sigmoid(value[trees, at].sum(1) + self.bias)

    @cached_property
    def _nodes(self) -> tuple[NDArray[Any], ...]:
        """Five arrays (trees, nodes), padded by nodes that no row reaches."""
        size = max(len(tree["value"]) for tree in self.trees)

        def padded(name: str, kind: type) -> NDArray[Any]:
            table: NDArray[Any] = np.zeros((len(self.trees), size), dtype=kind)
            for row, tree in zip(table, self.trees, strict=True):
                row[: len(tree[name])] = tree[name]
            return table

        return (
            padded("feature", np.intp),
            padded("threshold", np.float64),
            padded("left", np.intp),
            padded("right", np.intp),
            padded("value", np.float64),
        )

    @cached_property
    def _depth(self) -> int:
        """Steps after which every row has come to a leaf."""
        return max(_depth(tree["left"], tree["right"]) for tree in self.trees)


def _depth(left: Sequence[float], right: Sequence[float]) -> int:
    depth, level = 0, [0]
    while inner := [node for node in level if left[node] != node]:
        level = [int(child) for node in inner for child in (left[node], right[node])]
        depth += 1
    return depth
