"""Selection under a limit: which units stay, solved over all passages at once.

Units are tried from the most to the least relevant. One that does not fit, with what it depends
on, is skipped, and the next is tried: the budget is filled, not cut off at the first long
sentence. A larger budget never trades a more relevant unit for a less relevant one, which neither
score per token nor an exact knapsack can promise.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.errors import BudgetError

from ._picker import Picker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .base import Candidates, Scores
    from .budget import Adaptive

FLOOR = 0.01
FLOOR_SHARE = 0.05
"""A score under both, the second as a share of the best, says nothing: such units only fill up."""

STRONG_SHARE = 0.5
"""A unit with this share of the best score stays even where what it leans on does not fit."""

MAX_TRIED = 8
"""Units of a section that are tried to go with its heading."""

MAX_EXPLAINING = 8
"""Units that one brings at most because it leans on them; a chain is followed no further."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What binds a selection besides relevance and cost.

    Attributes:
        musts: Units that stay whatever their relevance, and why: "pinned" or what is retained.
        antecedents: For each unit that leans on another, the units that say what it speaks of; they
            come along if they fit. Where they do not, a strong unit comes alone, and a weaker one
            when all else was tried; so does one that says next to nothing.
        sections: For each heading, the units under it: it is not worth its tokens without one.
        twins: For each unit that others repeat, the number that they share: one of them stays.
    """

    musts: Mapping[int, str] = field(default_factory=dict)
    antecedents: Mapping[int, Sequence[int]] = field(default_factory=dict)
    sections: Mapping[int, Sequence[int]] = field(default_factory=dict)
    twins: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """The units that stay.

    Attributes:
        kept: Their indices, ascending.
        reasons: For each of them, why: "relevant", "pinned", "needed by unit N", "explains unit N",
            or "all fits".
    """

    kept: tuple[int, ...]
    reasons: Mapping[int, str]


def select(
    candidates: Candidates,
    scores: Scores,
    costs: Costs,
    limit: int,
    *,
    adaptive: Adaptive | None = None,
    plan: Plan | None = None,
) -> Selection:
    """Choose units whose tokens, with those of their titles and dependencies, stay within `limit`.

    Args:
        candidates: The units to choose from.
        scores: Their relevance.
        costs: Their tokens.
        limit: Tokens allowed.
        adaptive: Stop sooner, by relevance.
        plan: What must stay, and what goes with what.

    Raises:
        BudgetError: The units that must stay do not fit.
    """
    plan = plan or Plan()
    picker = _picker(candidates, costs, limit)
    for unit in sorted(plan.musts):
        if not picker.take((unit,), plan.musts[unit]):
            raise BudgetError(
                f"what must stay ({plan.musts[unit]}) does not fit into {limit} tokens; raise the "
                "budget, or pin or keep less"
            )
    musts = dict(picker.reasons)
    _fill(picker, plan, scores, _wanted(scores, adaptive))
    reasons = musts if _says_nothing(picker, plan, scores, musts) else picker.reasons
    return Selection(tuple(sorted(reasons)), reasons)


def cost_of(candidates: Candidates, costs: Costs, units: Iterable[int]) -> int:
    """Tokens of units with all that they depend on, by the estimate that `select` goes by."""
    picker = _picker(candidates, costs, sys.maxsize)
    for unit in units:
        picker.take((unit,), "")
    return picker.spent


def everything(count: int) -> Selection:
    """All units, because all of them fit."""
    return Selection(tuple(range(count)), dict.fromkeys(range(count), "all fits"))


def floor_of(scores: Scores) -> float:
    """Score under which a unit is near to nothing, absolutely and beside the best."""
    best = float(scores.units.max(initial=0.0))
    return min(FLOOR, FLOOR_SHARE * best)


def _picker(candidates: Candidates, costs: Costs, limit: int) -> Picker:
    return Picker(
        candidates.owners.tolist(),
        candidates.requires,
        costs.units.tolist(),
        costs.passages.tolist(),
        limit,
    )


def _fill(picker: Picker, plan: Plan, scores: Scores, wanted: Iterable[int]) -> None:
    values = scores.units.tolist()
    strong, floor = STRONG_SHARE * max(values, default=0.0), floor_of(scores)
    said = {plan.twins[unit] for unit in picker.reasons if unit in plan.twins}
    later: list[int] = []
    for unit in wanted:
        if unit in picker.reasons or plan.twins.get(unit) in said:
            continue
        if not picker.has_room_for(unit):
            continue
        if unit in plan.sections:
            taken = _take_heading(picker, plan, values, unit)
        elif beside := _antecedents(plan, unit):
            explained = values[unit] >= floor or all(other in picker.reasons for other in beside)
            taken = explained and picker.take((unit, *beside), "relevant")
            if not taken and values[unit] >= strong:
                taken = picker.take((unit,), "relevant")
            if not taken:
                later.append(unit)
        else:
            taken = picker.take((unit,), "relevant")
        if taken and unit in plan.twins:
            said.add(plan.twins[unit])
    for unit in later:
        if unit in picker.reasons or not picker.has_room_for(unit):
            continue
        if plan.twins.get(unit) not in said:
            picker.take((unit, *_antecedents(plan, unit)), "relevant")
            picker.take((unit,), "relevant")
            if unit in picker.reasons and unit in plan.twins:
                said.add(plan.twins[unit])


def _take_heading(picker: Picker, plan: Plan, values: Sequence[float], heading: int) -> bool:
    """A heading with the best of its section that fits, unless some of it is there."""
    section = plan.sections[heading]
    if any(unit in picker.reasons for unit in section):
        return picker.take((heading,), "relevant")
    ranked = sorted(section, key=lambda unit: -values[unit])[:MAX_TRIED]
    return any(picker.take((heading, unit), "relevant", "stands under") for unit in ranked)


def _antecedents(plan: Plan, unit: int) -> list[int]:
    """What a unit leans on, and what that leans on, the nearest first."""
    found: list[int] = []
    stack = [unit]
    while stack and len(found) < MAX_EXPLAINING:
        for other in plan.antecedents.get(stack.pop(), ()):
            if other != unit and other not in found:
                found.append(other)
                stack.append(other)
    return found


def _says_nothing(picker: Picker, plan: Plan, scores: Scores, musts: Mapping[int, str]) -> bool:
    """Whether all that was chosen is filling beside relevant units of which none fitted."""
    floor = floor_of(scores)
    chosen = [unit for unit in picker.reasons if unit not in musts]
    return floor > 0 and all(scores.units[unit] < floor for unit in chosen)


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
