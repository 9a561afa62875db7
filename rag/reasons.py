"""Why a unit was dropped, in words that hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fitting import closure

if TYPE_CHECKING:
    from .fitting import Fit, Problem


def why_dropped(problem: Problem, fit: Fit) -> dict[int, str]:
    """A reason for every unit that is not kept."""
    scores, kept = problem.scores.units, fit.selection.reasons
    by_relevance = [float(scores[unit]) for unit, why in kept.items() if why == "relevant"]
    best, worst = max(by_relevance, default=-1.0), min(by_relevance, default=2.0)
    return {
        unit: _why(problem, fit, unit, best, worst)
        for unit in range(len(scores))
        if unit not in kept
    }


def _why(problem: Problem, fit: Fit, unit: int, best: float, worst: float) -> str:
    score = float(problem.scores.units[unit])
    if problem.adaptive is not None and score <= worst:
        return "not needed beside what is kept"
    if score < worst and best >= 0:
        return "less relevant than what fits"
    if score == worst:
        return "no more relevant than what fits"
    if best > score:
        return "does not fit beside what is more relevant"
    alone = closure(problem.candidates, (unit,))
    if fit.sheet.tokens(alone) > problem.limit:
        return "longer than the budget allows"
    if problem.plan.musts:
        return "does not fit beside what must stay"
    return "says next to nothing, and what is relevant does not fit"
