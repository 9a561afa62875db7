"""From features to calibrated scores, by the weights that were fitted for the model that read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import Candidates, Scores, best_per_passage

from . import nothing
from .probes import find, shipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .boosted import Boosted
    from .features import Features
    from .logistic import Logistic


def judge(candidates: Candidates, scorer: str, features: Features) -> Scores:
    """Probability of every unit; a passage is as relevant as its best unit.

    A model that was not calibrated gets the default proxy's weights: rough, but most features are
    standardised and mean the same for any model.
    """
    probe = find(candidates.reader.fingerprint)
    known = probe.scorers if probe else {}
    model = known.get(scorer) or shipped().scorers[scorer]
    units = model.probability(features.matrix(tuple(model.features)))
    none = _nothing(features, units, known.get(nothing.NAME))
    return Scores(units, best_per_passage(candidates, units), none)


def _nothing(
    features: Features, units: NDArray[np.float64], model: Logistic | Boosted | None
) -> float:
    """Chance that no passage answers; without weights of its own, what the best unit leaves."""
    if model is None or not len(units):
        return 1.0 - float(units.max(initial=0.0))
    known = nothing.whole(units, features.matrix(nothing.COLUMNS))
    return float(model.probability(np.array([[known[name] for name in model.features]]))[0])
