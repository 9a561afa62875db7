"""Rows as Markdown tables, one a data set."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .rows import FAIR, REFERENCE, UNBOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Row = dict[str, Any]

MEASURES = {
    "evidence_recall": "evidence",
    "chain_rate": "chain",
    "answer_survival": "answer",
    "answer_coverage": "coverage",
}
FIRST = ("default", REFERENCE)
BESIDE = {"system", "rule", "data", "budget", "slot", "generator", "n", "refused", "ci"}
"""What a row of rankings or answers is about; all else in it is measured."""

UNFAIR = "°"


def measures_of(rows: Sequence[Row]) -> list[str]:
    """What a data set has labels for; a chain of one link is its evidence, and left out."""
    has = [m for m in MEASURES if any(row[m] is not None for row in rows)]
    if "chain_rate" in has and all(row["chain_rate"] == row["evidence_recall"] for row in rows):
        has.remove("chain_rate")
    return has


def systems_of(rows: Iterable[Row]) -> list[str]:
    """The default and its reference first, then the others by name, the whole last."""
    names = {row["system"] for row in rows}
    first = [name for name in FIRST if name in names]
    last = [UNBOUND] if UNBOUND in names else []
    return [*first, *sorted(names - {*first, *last}), *last]


def budgets_of(rows: Iterable[Row]) -> list[float]:
    """Shares, then tokens, ascending; without that of the whole."""
    return sorted({row["budget"] for row in rows if row["system"] != UNBOUND})


def budget_name(budget: float) -> str:
    """How a budget is written: a share with a point, tokens with their unit."""
    return f"{budget} tokens" if isinstance(budget, int) else f"{budget:g}"


def quality_table(rows: Sequence[Row]) -> list[str]:
    """One data set: measures and systems down, budgets across."""
    budgets = budgets_of(rows)
    known = {(row["system"], row["budget"]): row for row in rows}
    lines = [
        "| measure | system | " + " | ".join(map(budget_name, budgets)) + " |",
        "|---|---|" + "---|" * len(budgets),
    ]

    def add(measure: str, name: str, system: str, cell: Callable[[Row], str]) -> None:
        cells = [cell(row) if (row := known.get((system, b))) else "" for b in budgets]
        if any(cells):
            lines.append(f"| {measure} | {name} | " + " | ".join(cells) + " |")

    systems = [name for name in systems_of(rows) if name != UNBOUND]
    for measure in measures_of(rows):
        best = {b: _best(measure, b, rows) for b in budgets}
        for system in systems:
            add(MEASURES[measure], system, system, partial(_value, measure=measure, best=best))
        gain = partial(_gain, measure=measure)
        add(MEASURES[measure], f"default - {REFERENCE}", "default", gain)
    for system in systems:
        add("dangling", system, system, partial(plain, label="dangling_rate"))
    for system in systems:
        add("kept", system, system, _kept)
    return lines


def remarks(rows: Sequence[Row]) -> list[str]:
    """What a table of budgets has no column for: the whole, confidence, time."""
    found = []
    whole = [row for row in rows if row["system"] == UNBOUND]
    for row in whole:
        held = ", ".join(
            f"{MEASURES[m]} {row[m]:.3f}" for m in measures_of(rows) if row[m] is not None
        )
        found.append(f"Everything kept ({row['tokens_kept']:,.0f} tokens on average): {held}.")
    areas = _one_per_system(row for row in rows if row.get("nothing_auc") is not None)
    if areas:
        shown = ", ".join(f"{row['system']} {interval(row, 'nothing_auc')}" for row in areas)
        found.append(f"AUC of `nothing` for records without an answer: {shown}.")
    times = _one_per_system(row for row in rows if row["system"] != UNBOUND)
    shown = ", ".join(f"{r['system']} {r['ms_cold']:.0f} / {r['ms_warm']:.0f}" for r in times)
    return [*found, f"Median milliseconds, passages unknown / known: {shown}."]


def measured_table(rows: Sequence[Row], compared: str) -> list[str]:
    """Rankings or answers of one data set: one line a row, every measure a column.

    Args:
        rows: Of one data set.
        compared: The measure whose paired difference gets a column.
    """
    about = [key for key in rows[0] if key in BESIDE - {"data", "ci"}]
    none = {"refused": 0}
    about = [key for key in about if any(row.get(key) != none.get(key) for row in rows)]
    labels = [
        key for key in rows[0] if key not in BESIDE and isinstance(rows[0][key], int | float | None)
    ]
    labels = [key for key in labels if any(row.get(key) is not None for row in rows)]
    heads = [*about, *labels, f"{compared} over {_base(rows)}"]
    lines = [
        "| " + " | ".join(head.replace("_", " ") for head in heads) + " |",
        "|---" * len(heads) + "|",
    ]
    for row in rows:
        named = [row.get(key) for key in about]
        cells = ["-" if name is None else str(name) for name in named]
        cells += [interval(row, label) for label in labels]
        lines.append("| " + " | ".join([*cells, _gain(row, measure=compared) or "-"]) + " |")
    return lines


def interval(row: Row, label: str) -> str:
    """A mean and its interval, or a dash."""
    value, bounds = row.get(label), (row.get("ci") or {}).get(label)
    if value is None:
        return "-"
    if bounds is None:
        return f"{value:,.0f}" if label.startswith("ms") else f"{value:.3f}"
    return f"{value:.3f} ({bounds[0]:.2f}-{bounds[1]:.2f})"


def plain(row: Row, label: str) -> str:
    """A mean alone, or nothing."""
    return "" if row.get(label) is None else f"{row[label]:.3f}"


def _value(row: Row, measure: str, best: dict[float, float | None]) -> str:
    if row[measure] is None:
        return ""
    shown = interval(row, measure) + (UNFAIR if row["kept_gap"] > FAIR else "")
    return f"**{shown}**" if row[measure] == best.get(row["budget"]) else shown


def _gain(row: Row, measure: str) -> str:
    gain = (row.get("minus_lexical") or row.get("minus_greedy") or {}).get(measure)
    if not gain:
        return ""
    low, high = gain["ci"]
    return f"{gain['mean']:+.3f} ({low:+.2f} to {high:+.2f})"


def _base(rows: Iterable[Row]) -> str:
    """What a table compares to: a rule, the order in which passages were given, or BM25."""
    rows = list(rows)
    if any("rule" in row for row in rows):
        return "greedy"
    return "given" if any(row["system"] == "given" for row in rows) else REFERENCE


def _kept(row: Row) -> str:
    return f"{row['kept_share']:.3f}" + (UNFAIR if row["kept_gap"] > FAIR else "")


def _best(measure: str, budget: float, rows: Iterable[Row]) -> float | None:
    """The highest value; None where all are alike."""
    values = {
        row[measure]
        for row in rows
        if row["budget"] == budget and row["system"] != UNBOUND and row[measure] is not None
    }
    return max(values) if len(values) > 1 else None


def _one_per_system(rows: Iterable[Row]) -> list[Row]:
    """The first row of each system, in the order of tables."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row["system"], row)
    return [found[name] for name in systems_of(found.values())]
