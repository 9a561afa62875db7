"""The contrastive loss that moves a model's attention onto evidence.

BlockRank, https://arxiv.org/abs/2510.05396, section 3.3, trains the attention of a middle layer
with InfoNCE over documents; here the classes are units, and their probabilities the attention mass
of each probed head, normalised over units, averaged over heads: one head that sees the evidence is
enough, so that each may look for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from foveate.compressors.examples import gold_units

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from foveate.blocks.candidates import Candidates
    from foveate.compressors.examples import Example

TINY = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Which units should be looked at.

    Attributes:
        positives: Groups of unit indices; in each, attention on any one will do.
        negatives: Indices of units that hold no evidence. The other units of a passage of which
            only the answer is known are neither.
    """

    positives: tuple[NDArray[np.int64], ...]
    negatives: NDArray[np.int64]

    def without(self, units: Collection[int]) -> Targets:
        """The same but for units that have become part of the question."""
        taken = list(units)
        left = tuple(group for group in self.positives if not np.isin(group, taken).any())
        return Targets(left, np.setdiff1d(self.negatives, taken))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell apart."""
        return not self.positives or not len(self.negatives)


def targets(candidates: Candidates, example: Example) -> Targets:
    """The targets of an example over its candidates."""
    gold = gold_units(candidates, example.gold)
    loose = gold_units(candidates, example.any_of) & ~gold
    unsure = np.isin(candidates.owners, [p for p, _, _ in example.any_of])
    groups = [np.array([unit]) for unit in np.flatnonzero(gold)]
    if loose.any():
        groups.append(np.flatnonzero(loose))
    return Targets(tuple(groups), np.flatnonzero(~(gold | loose | unsure)))


def contrast(mass: torch.Tensor, wanted: Targets) -> torch.Tensor:
    """Mean over positives of the cross-entropy of each against all negatives.

    Args:
        mass: Attention on each unit, (heads, units).
        wanted: What should win.
    """
    logits = log_share(mass)
    against = torch.logsumexp(logits[_index(wanted.negatives)], 0)
    losses = []
    for group in wanted.positives:
        positive = torch.logsumexp(logits[_index(group)], 0)
        losses.append(torch.logaddexp(positive, against) - positive)
    return torch.stack(losses).mean()


def log_share(mass: torch.Tensor) -> torch.Tensor:
    """Log of the mass normalised over units for each head, averaged over heads: (units,)."""
    return torch.log((mass / (mass.sum(1, keepdim=True) + TINY)).mean(0) + TINY)


def _index(units: NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(units)
