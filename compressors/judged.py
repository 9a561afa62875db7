"""From features to calibrated scores, by the weights that were fitted for the model that read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foveate.blocks.candidates import Candidates, Scores, best_per_passage

from .logistic import probability
from .probes import find, shipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def judge(candidates: Candidates, scorer: str, features: NDArray[np.float64]) -> Scores:
    """Probability of every unit; a passage is as relevant as its best unit.

    A model that was not calibrated gets the default proxy's weights: the features are
    standardised, so they carry over, if less well.
    """
    probe = find(candidates.reader.fingerprint) or shipped()
    units = probability(features, probe.scorers[scorer])
    best = float(units.max(initial=0.0))
    return Scores(units, best_per_passage(candidates, units), nothing=1.0 - best)
