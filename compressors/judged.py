"""From features to calibrated scores, by the weights that were fitted for the model that read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import Candidates, Scores, best_per_passage

from .nothing import whole
from .probes import find, shipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .boosted import Boosted
    from .features import Features
    from .logistic import Logistic

NOTHING = "nothing"


def judge(candidates: Candidates, scorer: str, features: Features) -> Scores:
    """Probability of every unit; a passage is as relevant as its best unit.

    A model that was not calibrated gets the default proxy's weights: rough, but most features are
    standardised and mean the same for any model.
    """
    probe = find(candidates.reader.fingerprint)
    known = probe.scorers if probe else {}
    model = known.get(scorer) or shipped().scorers[scorer]
    units = model.probability(features.matrix(tuple(model.features)))
    nothing = _nothing(features, units, known.get(NOTHING))
    return Scores(units, best_per_passage(candidates, units), nothing)


def _nothing(
    features: Features, units: NDArray[np.float64], model: Logistic | Boosted | None
) -> float:
    """Chance that no passage answers; without weights of its own, what the best unit leaves."""
    if model is None or not len(units):
        return 1.0 - float(units.max(initial=0.0))
    known = whole(features, units)
    row = np.array([[known[name] for name in model.features]])
    return float(model.probability(row)[0])
