"""Which rule chooses best under a budget: the same scores, the same costs, four ways to fill it.

    python -m bench.selection --data FILE... --budget 0.1 0.2 0.3 --scorer default --limit 50

One row per data set, rule and budget: {rule, data, budget, n, evidence_recall, chain_rate,
answer_survival, kept_share, ms, ci, minus_greedy}. Rules:

- greedy: from the most to the least relevant, what does not fit is skipped (`compressors.selection`
  without what binds units to each other)
- first-fail: the same, but it stops at the first that does not fit, as Sentinel does
- density: the same as greedy, by score per token
- exact: the highest sum of scores, by dynamic programming; a passage's title is paid for with its
  first unit

`ms` is the median time of the rule alone; `minus_greedy` the paired difference as {mean, ci, n} by
label, `ci` 95% bootstrap intervals over records.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.candidates import Candidates
from foveate.blocks.conversation import standalone
from foveate.compressors.base import SCORERS
from foveate.compressors.budget import limit_of
from foveate.compressors.selection import select
from foveate.rag.render import Style
from foveate.rag.sheet import Sheet

from .data import load
from .entries import parser, write
from .metrics import outcome
from .stats import averages, differences
from .systems import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foveate import Proxy
    from foveate.compressors.selection import Costs

    from .data import Record
    from .metrics import Outcome

LABELS = ("evidence_recall", "chain_rate", "answer_survival", "kept_share")
GREEDY = "greedy"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a rule is given.

    Attributes:
        values: Score of each unit, (units,).
        owners: Passage of each unit, (units,), never decreasing.
        costs: Tokens.
        limit: Tokens allowed.
    """

    values: np.ndarray[tuple[int], np.dtype[np.float64]]
    owners: np.ndarray[tuple[int], np.dtype[np.int64]]
    costs: Costs
    limit: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    from foveate import load_proxy

    taken = parser("selection", __doc__)
    taken.add_argument("--budget", type=float, nargs="+", default=[0.1, 0.2, 0.3])
    taken.add_argument("--scorer", default="default")
    args = taken.parse_args(arguments)
    proxy = load_proxy(args.proxy)
    rows: list[dict[str, Any]] = []
    for path in args.data:
        records = load(path, args.limit, skip=args.skip)
        found = measured(proxy, records, args.scorer, args.budget)
        rows += [_row(path.name.split(".")[0], *key, found) for key in found]
    for row in rows:
        print(_line(row), flush=True)
    write(args.json, rows)
    return 0


Found = dict[tuple[str, float], dict[str, tuple["Outcome", float]]]
"""By rule and budget, then by record: what is left, and the milliseconds."""


def measured(
    proxy: Proxy, records: Sequence[Record], scorer: str, budgets: Sequence[float]
) -> Found:
    """Every rule on every record."""
    score = SCORERS.make("fused" if scorer == "default" else scorer)
    found: Found = {(rule, budget): {} for budget in budgets for rule in RULES}
    for record in records:
        proxy.store.clear()
        candidates = Candidates(standalone(record.query), record.passages, proxy=proxy)
        scores = score.score(candidates)
        sheet = Sheet(candidates, range(len(record.passages)), Style(), proxy.count_tokens)
        before = sheet.tokens(tuple(range(len(candidates.units))))
        for rule, budget in found:
            task = Task(scores.units, candidates.owners, sheet.costs(), limit_of(budget, before))
            start = time.perf_counter()
            if rule == GREEDY:
                kept = select(candidates, scores, task.costs, task.limit).kept
            else:
                kept = tuple(RULES[rule](task))
            spent = (time.perf_counter() - start) * 1000
            found[rule, budget][record.id] = (
                outcome(record, _kept(sheet, candidates, kept, before)),
                spent,
            )
    return found


def first_fail(task: Task) -> list[int]:
    """The most relevant units up to the first that does not fit."""
    kept, opened, left = [], set[int](), task.limit
    for unit in np.argsort(-task.values, kind="stable").tolist():
        cost = _cost(task, unit, opened)
        if cost > left:
            break
        kept.append(unit)
        opened.add(int(task.owners[unit]))
        left -= cost
    return sorted(kept)


def density(task: Task) -> list[int]:
    """Units by score per token; what does not fit is skipped."""
    kept, opened, left = [], set[int](), task.limit
    for unit in np.argsort(-task.values / task.costs.units, kind="stable").tolist():
        cost = _cost(task, unit, opened)
        if cost <= left:
            kept.append(unit)
            opened.add(int(task.owners[unit]))
            left -= cost
    return sorted(kept)


def exact(task: Task) -> list[int]:
    """The units whose scores have the highest sum: a knapsack, passage by passage.

    Within a passage the best sums with its title paid for are kept beside those without it.
    """
    size = task.limit + 1
    best = np.zeros(size)
    choices: list[tuple[np.ndarray, list[tuple[int, np.ndarray]]]] = []
    for passage in range(len(task.costs.passages)):
        opened = _shifted(best, int(task.costs.passages[passage]), 0.0)
        taken = []
        for unit in np.flatnonzero(task.owners == passage).tolist():
            other = _shifted(opened, int(task.costs.units[unit]), float(task.values[unit]))
            better = other > opened
            opened = np.where(better, other, opened)
            taken.append((unit, better))
        in_it = opened > best
        best = np.where(in_it, opened, best)
        choices.append((in_it, taken))
    return sorted(_chosen(task, choices))


def _chosen(
    task: Task, choices: list[tuple[np.ndarray, list[tuple[int, np.ndarray]]]]
) -> list[int]:
    left, kept = task.limit, []
    for passage in range(len(choices) - 1, -1, -1):
        in_it, taken = choices[passage]
        if not in_it[left]:
            continue
        for unit, better in reversed(taken):
            if better[left]:
                kept.append(unit)
                left -= int(task.costs.units[unit])
        left -= int(task.costs.passages[passage])
    return kept


def _shifted(sums: np.ndarray, cost: int, value: float) -> np.ndarray:
    """Sums after something that costs so many tokens was taken; -inf where it does not fit."""
    out = np.full(len(sums), -np.inf)
    if cost < len(sums):
        out[cost:] = sums[: len(sums) - cost] + value
    return out


def _cost(task: Task, unit: int, opened: set[int]) -> int:
    owner = int(task.owners[unit])
    title = 0 if owner in opened else int(task.costs.passages[owner])
    return int(task.costs.units[unit]) + title


RULES: dict[str, Callable[[Task], list[int]]] = {
    GREEDY: lambda task: [],
    "first-fail": first_fail,
    "density": density,
    "exact": exact,
}


def _kept(sheet: Sheet, candidates: Candidates, units: tuple[int, ...], before: int) -> Kept:
    spans: dict[int, list[tuple[int, int]]] = {}
    for unit in units:
        place = candidates.units[unit]
        spans.setdefault(int(candidates.owners[unit]), []).append((place.start, place.end))
    return Kept(sheet.text(units), spans, sheet.tokens(units), before, 0.0, 0.0)


def _row(data: str, rule: str, budget: float, found: Found) -> dict[str, Any]:
    of_rule = found[rule, budget]
    left = {record: each for record, (each, _) in of_rule.items()}
    greedy = {record: each for record, (each, _) in found[GREEDY, budget].items()}
    means, intervals = averages(list(left.values()), LABELS, getattr)
    row = {
        "rule": rule,
        "data": data,
        "budget": budget,
        "n": len(left),
        **means,
        "ms": round(median(spent for _, spent in of_rule.values()), 2),
        "ci": intervals,
    }
    if rule != GREEDY:
        row["minus_greedy"] = differences(left, greedy, LABELS, getattr)
    return row


def _line(row: dict[str, Any]) -> str:
    cells = [f"{row['data']:<18} {row['budget']:<5} {row['rule']:<11} n={row['n']:<4}"]
    cells += [f"{label} {row[label]:.3f}" for label in LABELS if row[label] is not None]
    return " ".join([*cells, f"{row['ms']:.2f} ms"])


if __name__ == "__main__":
    sys.exit(main())
