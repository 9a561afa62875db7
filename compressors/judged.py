"""From features to calibrated scores, by the weights that were fitted for the model that read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foveate.blocks.candidates import Candidates, Scores, best_per_passage

from .logistic import probability
from .probes import find, shipped

if TYPE_CHECKING:
    from .features import Features


def judge(candidates: Candidates, scorer: str, features: Features) -> Scores:
    """Probability of every unit; a passage is as relevant as its best unit.

    A model that was not calibrated gets the default proxy's weights: rough, but most features are
    standardised and mean the same for any model.
    """
    probe = find(candidates.reader.fingerprint)
    fitted = probe and probe.scorers.get(scorer)
    model = fitted or shipped().scorers[scorer]
    units = probability(features.matrix(tuple(model.weights)), model)
    best = float(units.max(initial=0.0))
    return Scores(units, best_per_passage(candidates, units), nothing=1.0 - best)
