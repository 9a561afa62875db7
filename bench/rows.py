"""From outcomes to rows: means, intervals, and what of it is a fair comparison."""

from __future__ import annotations

import json
from functools import lru_cache
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from .metrics import LABELS, Outcome
from .stats import auc, auc_interval, averages, differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MEANS = (*LABELS, "dangling_rate", "kept_share")
FAIR = 0.05
"""Systems whose kept shares differ by more were not given the same."""

UNBOUND = "full"
"""The system that no budget binds."""

REFERENCE = "lexical"
"""Every system is compared to it, record by record."""

Key = tuple[str, str, float]
"""(data, system, budget)"""

Outcomes = dict[str, Outcome]
"""By record."""


def rows(groups: Mapping[Key, Outcomes], seed: int = 0) -> list[dict[str, Any]]:
    """One row for each group, in their order."""
    found = []
    for (data, system, budget), outcomes in groups.items():
        row = summarise(system, data, budget, outcomes, seed)
        row["kept_gap"] = round(_fullest(groups, data, budget) - row["kept_share"], 4)
        reference = groups.get((data, REFERENCE, budget))
        if reference and system not in (REFERENCE, UNBOUND):
            row["minus_lexical"] = differences(outcomes, reference, LABELS, getattr, seed)
        found.append(row)
    return found


def summarise(
    system: str, data: str, budget: float, outcomes: Outcomes, seed: int = 0
) -> dict[str, Any]:
    """Means with bootstrap intervals over records, and median times."""
    each = list(outcomes.values())
    means, intervals = averages(each, MEANS, getattr, seed)
    judged = [o for o in each if o.nothing is not None and o.answerable is not None]
    scores = tuple(o.nothing or 0.0 for o in judged)
    area, bounds = _area(scores, tuple(not o.answerable for o in judged), seed)
    intervals["nothing_auc"] = bounds and list(bounds)
    return {
        "system": system,
        "data": data,
        "budget": budget,
        "n": len(each),
        **means,
        "nothing_auc": area,
        "tokens_kept": round(fmean(o.tokens_kept for o in each), 1),
        "ms_cold": round(median(o.ms_cold for o in each), 1),
        "ms_warm": round(median(o.ms_warm for o in each), 1),
        "ci": intervals,
    }


@lru_cache(maxsize=64)
def _area(
    scores: tuple[float, ...], positive: tuple[bool, ...], seed: int
) -> tuple[float | None, tuple[float, ...] | None]:
    """`auc` with its interval; once for all budgets of a system, which do not bear on it."""
    area = auc(scores, positive)
    return area, None if area is None else tuple(auc_interval(scores, positive, seed))


def write_rows(path: Path, found: Sequence[Mapping[str, Any]]) -> None:
    """Rows as JSON, one a line, so that a change of one is a change of one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n")


def _fullest(groups: Mapping[Key, Outcomes], data: str, budget: float) -> float:
    """The highest mean kept share of what had this budget; that of one system if it is alone."""
    return max(
        fmean(o.kept_share for o in outcomes.values())
        for (of, system, at), outcomes in groups.items()
        if (of, at) == (data, budget) and (system != UNBOUND or at == 1.0)
    )
