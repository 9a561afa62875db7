"""Budgets: how much may stay, in tokens, as a share, or as much as the evidence asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from foveate.blocks.errors import BudgetError


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


def _is_share(budget: object) -> bool:
    return isinstance(budget, Real) and not isinstance(budget, Integral)


def _is_positive(budget: Any) -> bool:
    return bool(0 < budget <= 1) if _is_share(budget) else bool(budget > 0)


def _refusal(budget: object) -> str:
    return (
        f"budget {budget!r} is not allowed; give a positive int (tokens), a float in (0, 1] "
        "(share of the input), or foveate.Adaptive(...)"
    )
