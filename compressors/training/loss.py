"""The contrastive loss that moves a model's attention onto evidence.

BlockRank, https://arxiv.org/abs/2510.05396, section 3.3, trains the attention of a middle layer
with InfoNCE over documents; here the classes are units, the logits the mean over probed heads of
log attention mass: the quantity by which units are ranked afterwards.
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


def contrast(log_mass: torch.Tensor, wanted: Targets) -> torch.Tensor:
    """Mean over positives of the cross-entropy of each against all negatives.

    Args:
        log_mass: (heads, units).
        wanted: What should win.
    """
    logits = log_mass.mean(0)
    against = torch.logsumexp(logits[torch.from_numpy(wanted.negatives)], 0)
    losses = []
    for group in wanted.positives:
        positive = torch.logsumexp(logits[torch.from_numpy(group)], 0)
        losses.append(torch.logaddexp(positive, against) - positive)
    return torch.stack(losses).mean()
