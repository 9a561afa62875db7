"""How much of what the answer needs is still there, for each system at each budget.

    python -m bench.quality --data FILE... --budget 0.1 0.3 512 --systems all --limit 100
    --json out.json

One row per data set, system and budget: {system, data, budget, n, evidence_recall, chain_rate,
answer_survival, answer_coverage, dangling_rate, kept_share, nothing_auc, tokens_kept, ms_cold,
ms_warm, ci, kept_gap, minus_lexical}. Numbers in [0, 1] but for tokens and milliseconds, which are
medians; null where the data has no such label. A budget is a share of the input (0.3) or tokens of
the proxy (512). `ci` holds 95% bootstrap intervals over records, `minus_lexical` the paired
difference to BM25 as {mean, ci, n} by label. `kept_gap` is how much less of the input the row kept
than the fullest system at that budget: over 0.05 the comparison is not fair, and a warning is
printed.

Systems: any scorer's name; "default" is what `foveate.compress` does when nothing is chosen;
"random" is the mean of three seeds; "lead" takes the first units of each passage, round robin;
"truncate" cuts the passages, one after another, at the budget; "full" has no budget; "all" is what
every table carries.

With `--json`, outcomes are kept in FILE.log.jsonl as they come. The same command, with more
records, systems or budgets as well, goes on from there; rows are of all outcomes in it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from foveate.compressors.base import SCORERS

from .data import SEED, load
from .entries import parser
from .log import Log, code
from .metrics import LABELS, Outcome
from .rows import FAIR, UNBOUND, rows, write_rows
from .systems import WHOLE, Bench, Budget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from .data import Record
    from .rows import Key, Outcomes

ALL = (
    "default",
    "lexical",
    "embedding",
    "retrieval-heads",
    "random",
    "lead",
    "truncate",
    "full",
    "sentinel",
)
OWN = ("default", "lead", "truncate", "full")
"""Systems that are no scorer's name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    from foveate import load_proxy

    args = _arguments(arguments)
    proxy = load_proxy(args.proxy)
    settings = {"proxy": proxy.fingerprint, "seed": args.seed, "skip": args.skip, "code": code()}
    log = Log(log_of(args.json), settings, fresh=args.fresh, mixed=args.mixed)
    bench = Bench(proxy, args.seed)
    asked = {name_of(data) for data in args.data}
    found = rows(grouped(e for e in log.entries if e["data"] not in asked), args.seed)
    for data in args.data:
        records = load(data, args.limit, skip=args.skip, seed=args.seed)
        run(bench, log, name_of(data), records, args.systems, args.budget)
        entries = (entry for entry in log.entries if entry["data"] == name_of(data))
        of_data = rows(grouped(entries), args.seed)
        for row in of_data:
            print(line(row), flush=True)
        for warning in unfair(of_data):
            print(warning, file=sys.stderr)
        found += of_data
        if args.json:
            write_rows(args.json, found)
    return 0


def log_of(path: Path | None) -> Path | None:
    """Where the outcomes behind a file of rows are kept."""
    return path and path.with_suffix(".log.jsonl")


def name_of(path: Path) -> str:
    """What a data file is called in rows."""
    return path.name.split(".")[0]


def run(
    bench: Bench,
    log: Log,
    data: str,
    records: Sequence[Record],
    systems: Sequence[str],
    budgets: Sequence[Budget],
) -> None:
    """Add to the log what is not in it yet: record by record, all systems of one at a time."""
    known = {(e["data"], e["record"], e["system"], e["budget"]) for e in log.entries}
    for n, record in enumerate(records, start=1):
        for system in systems:
            of_system: Sequence[Budget] = [WHOLE] if system == UNBOUND else budgets
            new = [b for b in of_system if (data, record.id, system, b) not in known]
            if not new:
                continue
            outcomes = bench.run(system, record, new)
            log.add(
                [
                    {"data": data, "record": record.id, "system": system, "budget": b, **asdict(o)}
                    for b, o in zip(new, outcomes, strict=True)
                ]
            )
        if sys.stderr.isatty():
            print(f"\r{data} {n}/{len(records)}", end="\n" * (n == len(records)), file=sys.stderr)


def grouped(entries: Iterable[dict[str, Any]]) -> dict[Key, Outcomes]:
    """Outcomes by data set, system and budget, then by record."""
    groups: dict[Key, Outcomes] = {}
    for entry in entries:
        key = (entry["data"], entry["system"], entry["budget"])
        values = {name: entry[name] for name in Outcome.__slots__}
        groups.setdefault(key, {})[entry["record"]] = Outcome(**values)
    return groups


def unfair(found: Iterable[dict[str, Any]]) -> list[str]:
    """What to say of systems that kept much less than others had room for."""
    return [
        f"{row['data']} {row['budget']}: {row['system']} kept {row['kept_share']:.3f}, "
        f"{row['kept_gap']:.3f} less than the fullest; no comparison at equal budget"
        for row in found
        if row["kept_gap"] > FAIR
    ]


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    parts = [f"{row['data']:18} {row['budget']:<5} {row['system']:16} n={row['n']:<4}"]
    for label in (*LABELS, "dangling_rate", "nothing_auc"):
        if row[label] is not None:
            low, high = row["ci"][label]
            parts.append(f"{label} {row[label]:.3f} [{low:.2f},{high:.2f}]")
    parts.append(f"kept {row['kept_share']:.3f}")
    parts.append(f"cold {row['ms_cold']:.0f} ms warm {row['ms_warm']:.0f} ms")
    for label, gain in (row.get("minus_lexical") or {}).items():
        if row["system"] == "default" and gain:
            parts.append(f"| {label} - lexical {gain['mean']:+.3f} {gain['ci']}")
    return " ".join(parts)


def budget_of(text: str) -> Budget:
    """A share if it is written with a point, else tokens."""
    return float(text) if "." in text else int(text)


def systems_of(text: str) -> list[str]:
    """Names, comma-separated; those that read in their own way last, for they forget blocks."""
    known = {*OWN, *SCORERS.names()}
    everyone = [name for name in ALL if name in known]
    names = dict.fromkeys(
        name for part in text.split(",") for name in (everyone if part == "all" else [part.strip()])
    )
    if unknown := names.keys() - known:
        raise argparse.ArgumentTypeError(
            f"{', '.join(sorted(unknown))}: no such system; choose from {', '.join(sorted(known))}"
        )
    return sorted(names, key=_reads_itself)


def _reads_itself(system: str) -> bool:
    return system not in OWN and SCORERS.make(system).reads_itself


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    found = parser("quality", __doc__)
    found.add_argument("--budget", type=budget_of, nargs="+", default=[0.3])
    found.add_argument("--systems", type=systems_of, default="default,lexical,random")
    found.add_argument("--seed", type=int, default=SEED)
    return found.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
