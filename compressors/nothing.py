"""How sure it is that no passage holds the answer: a judgement on the whole, not on a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .logistic import logit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .features import Features

NOTHING = ("best", "coverage_of_best", "intensity", "over_baseline")
"""What the judgement goes by, in the order its weights are printed."""


def whole(features: Features, units: NDArray[np.float64]) -> dict[str, float]:
    """Features of one query's candidates as a whole.

    Args:
        features: Of their units.
        units: Probability of each unit.
    """
    return {
        "best": float(logit(units).max()),
        "coverage_of_best": float(features.coverage.max()),
        "intensity": float(features.intensity[0]),
        "over_baseline": float(features.over_baseline[0]),
    }
