"""How sure it is that no passage holds the answer: a judgement on the whole, not on a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .logistic import logit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "nothing"
"""What its weights are filed under."""

COLUMNS = ("coverage", "intensity", "over_baseline", "looked", "odds")
"""Features of units that it can be made from, beside their probabilities."""

WHOLE = ("coverage_of_best", "looked", "odds")
"""What it is fitted on. Probabilities of units serve as well where they were fitted, and not
elsewhere: a claim and a question leave them at other levels."""


def whole(chances: NDArray[np.float64], columns: NDArray[np.float64]) -> dict[str, float]:
    """All that is known of one query's candidates as a whole, by name.

    Args:
        chances: Probability of each unit, of one at least: (units,).
        columns: Their `COLUMNS`: (units, columns).
    """
    coverage, intensity, over_baseline, looked, odds = columns.T
    return {
        "best": float(logit(chances).max()),
        "coverage_of_best": float(coverage.max()),
        "intensity": float(intensity[0]),  # one value for all
        "over_baseline": float(over_baseline[0]),
        "looked": float(looked.max()),
        "odds": float(odds.max()),
    }
