"""Sums over the tokens of a unit or passage, over the units of a passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sum_by(
    groups: NDArray[np.int64], values: NDArray[np.floating], count: int
) -> NDArray[np.float64]:
    """Sum of the values of each group: (count,).

    Args:
        groups: Group of each value, from 0: (values,).
        values: (values,).
        count: Number of groups; those without a value sum to 0.
    """
    sums: NDArray[np.float64] = np.bincount(groups, values, count).astype(np.float64, copy=False)
    return sums
