"""The fullest selection whose rendered text is within the limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.blocks.errors import BudgetError
from foveate.compressors.selection import Costs, Plan, Selection, cost_of, floor_of, select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from foveate.blocks.candidates import Candidates, Scores
    from foveate.compressors.budget import Adaptive

    from .sheet import Sheet

MAX_ATTEMPTS = 6
"""Selections that are tried to come near the limit."""

NEAR_SHARE = 0.005
"""So near to the limit, as a share of it, no further one is tried: it is less than a unit."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What to choose from and within which bounds.

    Attributes:
        candidates: The units.
        scores: Their relevance.
        plan: What must stay, and what goes with what.
        limit: Tokens allowed, as the caller counts them.
        adaptive: Stop sooner, by relevance.
    """

    candidates: Candidates
    scores: Scores
    plan: Plan
    limit: int
    adaptive: Adaptive | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A selection within its limit.

    Attributes:
        selection: The units.
        sheet: How it is rendered; a title may have made room for the best unit.
    """

    selection: Selection
    sheet: Sheet

    @property
    def tokens(self) -> int:
        """Tokens of the text."""
        return self.sheet.tokens(self.selection.kept)


def fit(problem: Problem, sheet: Sheet) -> Fit:
    """Select, render and count until the limit is nearly reached.

    What units cost together is known only when they are rendered: joined they may take fewer tokens
    than alone, or more. So the estimate is allowed more, or less, by what it was off.

    Raises:
        BudgetError: What must stay is over the limit when it is rendered alone.
    """
    _check_musts(problem, sheet)
    sheet = _with_room_for_the_best(problem, sheet)
    costs = sheet.costs()
    least = _least(problem, sheet, costs)

    def attempt(allowed: int) -> Selection:
        return select(
            problem.candidates,
            problem.scores,
            costs,
            max(allowed, least),
            adaptive=problem.adaptive,
            plan=problem.plan,
        )

    for selection in _search(attempt, problem.limit, sheet):
        if sheet.tokens(selection.kept) <= problem.limit:
            return Fit(selection, sheet)
    return Fit(_trim(problem, sheet, attempt(0)), sheet)


def _search(attempt: Callable[[int], Selection], limit: int, sheet: Sheet) -> list[Selection]:
    """Selections that seem to be within the limit, those that were allowed most first."""
    found: dict[int, Selection] = {}
    allowed, step = limit, 0
    selection = attempt(allowed)
    off_by = sheet.tokens(selection.kept) - sheet.guess(selection.kept)
    for _ in range(MAX_ATTEMPTS):
        off = limit - sheet.guess(selection.kept) - off_by
        if off >= 0:
            found[allowed] = selection
        # Once something fits, an attempt that does not only takes half the last step back.
        step = off if off > 0 or not found else -max(1, abs(step) // 2)
        if 0 <= off <= NEAR_SHARE * limit or (allowed == 0 and step < 0):
            break
        allowed = max(0, allowed + step)
        selection = attempt(allowed)
    return [found[allowed] for allowed in sorted(found, reverse=True)]


def _trim(problem: Problem, sheet: Sheet, selection: Selection) -> Selection:
    """Give up the least relevant units until the rendered text is within the limit."""
    scores, requires = problem.scores.units, problem.candidates.requires
    while sheet.tokens(selection.kept) > problem.limit:
        needed = {other for unit in selection.kept for other in requires[unit]}
        free = [u for u in selection.kept if u not in needed and u not in problem.plan.musts]
        worst = min(free, key=lambda unit: (scores[unit], -unit))
        kept = tuple(unit for unit in selection.kept if unit != worst)
        selection = Selection(kept, {unit: selection.reasons[unit] for unit in kept})
    return selection


def _check_musts(problem: Problem, sheet: Sheet) -> None:
    kept = closure(problem.candidates, problem.plan.musts)
    if (tokens := sheet.tokens(kept)) > problem.limit:
        why = ", ".join(sorted(set(problem.plan.musts.values())))
        raise BudgetError(
            f"what must stay ({why}) takes {tokens} tokens and does not fit into {problem.limit}; "
            "raise the budget, or pin or keep less"
        )


def _with_room_for_the_best(problem: Problem, sheet: Sheet) -> Sheet:
    """Without the title of the best unit's passage, if the unit fits in no other way."""
    best = _best(problem)
    if best is None:
        return sheet
    kept = closure(problem.candidates, (*problem.plan.musts, best))
    if sheet.tokens(kept) <= problem.limit:
        return sheet
    bare = sheet.without_title_of(int(problem.candidates.owners[best]))
    return bare if bare.tokens(kept) <= problem.limit else sheet


def _least(problem: Problem, sheet: Sheet, costs: Costs) -> int:
    """What the estimate must be allowed so that what is known to fit is not refused by it."""
    sure = [*problem.plan.musts]
    best = _best(problem)
    if best is not None:
        kept = closure(problem.candidates, (*sure, best))
        if sheet.tokens(kept) <= problem.limit:
            sure.append(best)
    return cost_of(problem.candidates, costs, sure) if sure else 0


def _best(problem: Problem) -> int | None:
    """The most relevant unit, unless it says nothing either."""
    scores = problem.scores.units
    if not len(scores) or scores.max() <= floor_of(problem.scores):
        return None
    best = int(scores.argmax())
    return None if best in problem.plan.musts or best in problem.plan.sections else best


def closure(candidates: Candidates, units: Iterable[int]) -> tuple[int, ...]:
    """Units with all that they require, ascending."""
    seen: set[int] = set()
    stack = list(units)
    while stack:
        if (unit := stack.pop()) not in seen:
            seen.add(unit)
            stack.extend(candidates.requires[unit])
    return tuple(sorted(seen))
