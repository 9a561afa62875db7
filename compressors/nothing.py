"""How sure it is that no passage holds the answer: a judgement on the whole, not on a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .logistic import logit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "nothing"
"""What its weights are filed under."""

COLUMNS = ("coverage", "intensity", "over_baseline")
"""Features of units that it is made from, beside their probabilities."""

WHOLE = ("best", "coverage_of_best", "intensity", "over_baseline")
"""What it goes by, in the order its weights are printed."""


def whole(chances: NDArray[np.float64], columns: NDArray[np.float64]) -> tuple[float, ...]:
    """The values of `WHOLE` for one query's candidates.

    Args:
        chances: Probability of each unit, of one at least: (units,).
        columns: Their `COLUMNS`: (units, 3).
    """
    coverage, intensity, over_baseline = columns.T
    return (
        float(logit(chances).max()),
        float(coverage.max()),
        float(intensity[0]),  # one value for all
        float(over_baseline[0]),
    )
