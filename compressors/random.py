"""Scores drawn by lot: the floor that every method must clear."""

from __future__ import annotations

import numpy as np

from foveate.blocks.candidates import best_per_passage

from .base import Candidates, Scorer, Scores


class Random(Scorer):
    """Uniform scores, the same for the same seed and number of units.

    Args:
        seed: Seed of the generator.
    """

    name = "random"
    reads = False

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        units = np.random.default_rng(self.seed).random(len(candidates.units))
        return Scores(units, best_per_passage(candidates, units), nothing=0.0)
