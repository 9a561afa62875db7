"""Rows of `bench.quality` as a Markdown table: `python -m bench.table out/*.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LABELS = {"evidence_recall": "evidence", "chain_rate": "chain", "answer_survival": "answer"}


def main(paths: list[str]) -> int:
    """Print one line per row of the given files."""
    rows = [row for path in paths for row in json.loads(Path(path).read_text())]
    print("| data | budget | system | n | " + " | ".join(LABELS.values()) + " | kept |")
    print("|---|---|---|---|" + "---|" * (len(LABELS) + 1))
    for row in sorted(rows, key=lambda row: (row["data"], -row["budget"])):
        print(line(row))
    return 0


def line(row: dict[str, Any]) -> str:
    """One row as a line of the table."""
    cells = [f"{row['data']} | {row['budget']} | {row['system']} | {row['n']}"]
    cells += [cell(row[label], row["ci"][label]) for label in LABELS]
    return "| " + " | ".join([*cells, f"{row['kept_share']:.3f}"]) + " |"


def cell(value: float | None, bounds: list[float] | None) -> str:
    """A mean and its interval, or a dash."""
    if value is None or bounds is None:
        return "-"
    return f"{value:.3f} ({bounds[0]:.2f}-{bounds[1]:.2f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
