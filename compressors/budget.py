"""Selection under a budget: which units stay, solved over all passages at once.

Units are tried from the most to the least relevant. One that does not fit, with what it depends
on, is skipped, and the next is tried: the budget is filled, not cut off at the first long
sentence. A larger budget never trades a more relevant unit for a less relevant one.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .base import Candidates, Scores


@dataclass(frozen=True, slots=True)
class Adaptive:
    """As much as the evidence asks for.

    Units are kept until they hold a share of all relevance, in which "nothing relevant" takes
    part: if that alone reaches the share, nothing is kept. The top-p rule of AttnComp,
        https://arxiv.org/abs/2509.17486, section 3.3.

    Args:
        mass: Share of relevance to reach, in (0, 1].
        floor: Score below which no unit is kept, in [0, 1].
        limit: Hard limit that holds besides: tokens (int), share of the input (float), or None.
    """

    mass: float = 0.9
    floor: float = 0.05
    limit: int | float | None = None


Budget = int | float | Adaptive


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What a selection costs in tokens.

    Attributes:
        units: Tokens of each unit, shape (units,).
        passages: Tokens that a passage costs on top as soon as one of its units is kept: its title
            line and separator.
    """

    units: NDArray[np.int64]
    passages: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Selection:
    """The units that stay.

    Attributes:
        kept: Their indices, ascending.
        reasons: For each of them, why: "relevant", "pinned", "needed by unit N", or "all fits".
    """

    kept: tuple[int, ...]
    reasons: Mapping[int, str]


def limit_of(budget: Budget, total: int) -> int:
    """The hard limit in tokens that a budget puts on an input of `total` tokens.

    Raises:
        BudgetError: The budget is not a positive int, a float in (0, 1], or an `Adaptive`.
    """
    check(budget)
    if isinstance(budget, Adaptive):
        return total if budget.limit is None else limit_of(budget.limit, total)
    return math.floor(budget * total) if _is_share(budget) else int(budget)


def check(budget: object) -> None:
    """Refuse what is no budget.

    Raises:
        BudgetError: Says what was given and what is allowed.
    """
    if isinstance(budget, Adaptive):
        if not (0 < budget.mass <= 1 and 0 <= budget.floor <= 1):
            raise BudgetError(
                f"mass {budget.mass} must lie in (0, 1] and floor {budget.floor} in [0, 1]"
            )
        if budget.limit is not None:
            check(budget.limit)
    elif isinstance(budget, bool) or not isinstance(budget, Real) or not _is_positive(budget):
        raise BudgetError(_refusal(budget))


def select(
    candidates: Candidates,
    scores: Scores,
    costs: Costs,
    limit: int,
    *,
    adaptive: Adaptive | None = None,
    pins: Collection[int] = (),
) -> Selection:
    """Choose units whose tokens, with those of their titles and dependencies, stay within `limit`.

    Args:
        candidates: The units to choose from.
        scores: Their relevance.
        costs: Their tokens.
        limit: Tokens allowed.
        adaptive: Stop sooner, by relevance.
        pins: Indices of units that must stay.

    Raises:
        BudgetError: The pinned units alone do not fit.
    """
    picker = _Picker(candidates.owners, candidates.requires, costs, limit)
    for unit in sorted(pins):
        if not picker.take(unit, "pinned"):
            raise BudgetError(
                f"the pinned text does not fit into {limit} tokens; raise the budget or pin less"
            )
    for unit in _wanted(scores, adaptive):
        picker.take(unit, "relevant")
    return Selection(tuple(sorted(picker.reasons)), picker.reasons)


def cost_of(candidates: Candidates, costs: Costs, units: Iterable[int]) -> int:
    """Tokens of units with all that they depend on, by the estimate that `select` goes by."""
    picker = _Picker(candidates.owners, candidates.requires, costs, sys.maxsize)
    for unit in units:
        picker.take(unit, "")
    return picker.spent


def everything(count: int) -> Selection:
    """All units, because all of them fit."""
    return Selection(tuple(range(count)), dict.fromkeys(range(count), "all fits"))


class _Picker:
    """Takes units while they fit; what a unit depends on comes with it or it does not come."""

    def __init__(
        self,
        owners: NDArray[np.int64],
        requires: Sequence[tuple[int, ...]],
        costs: Costs,
        limit: int,
    ) -> None:
        self.reasons: dict[int, str] = {}
        self._owners, self._requires, self._costs = owners, requires, costs
        self._left = limit
        self.spent = 0
        self._opened: set[int] = set()

    def take(self, unit: int, reason: str) -> bool:
        if unit in self.reasons:
            return True
        owner = int(self._owners[unit])
        needed = [u for u in self._closure(unit) if u not in self.reasons]
        cost = int(self._costs.units[needed].sum())
        cost += 0 if owner in self._opened else int(self._costs.passages[owner])
        if cost > self._left:
            return False
        self._left -= cost
        self.spent += cost
        self._opened.add(owner)
        self.reasons.update((u, reason if u == unit else f"needed by unit {unit}") for u in needed)
        return True

    def _closure(self, unit: int) -> Iterable[int]:
        seen, stack = {unit}, [unit]
        while stack:
            for other in self._requires[stack.pop()]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return sorted(seen)


def _wanted(scores: Scores, adaptive: Adaptive | None) -> Iterator[int]:
    """Units from most to least relevant, as far as an adaptive budget asks."""
    ranked = np.argsort(-scores.units, kind="stable")
    if adaptive is None:
        yield from ranked.tolist()
        return
    total = float(scores.units.sum()) or 1.0
    reached = scores.nothing
    for unit in ranked.tolist():
        score = float(scores.units[unit])
        if reached >= adaptive.mass or score < adaptive.floor:
            return
        reached += (1 - scores.nothing) * score / total
        yield unit


def _is_share(budget: object) -> bool:
    return isinstance(budget, Real) and not isinstance(budget, Integral)


def _is_positive(budget: Any) -> bool:
    return bool(0 < budget <= 1) if _is_share(budget) else bool(budget > 0)


def _refusal(budget: object) -> str:
    return (
        f"budget {budget!r} is not allowed; give a positive int (tokens), a float in (0, 1] "
        "(share of the input), or foveate.Adaptive(...)"
    )
