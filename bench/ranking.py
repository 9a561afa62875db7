"""How high the passages that hold the answer are ranked.

    python -m bench.ranking --data FILE_OR_BEIR_FOLDER... --systems default,lexical --limit 100
    python -m bench.ranking --data synthwiki.jsonl.gz --slots first,middle,last --json out.json
    python -m bench.ranking --data synthwiki.jsonl.gz --slots 0..19

One row per data set, system and slot: {system, data, slot, n, recall_at_1, recall_at_2,
recall_at_5, ndcg_at_10, mrr, ms, ci, minus_lexical}. Metrics are those of ir-measures, in [0, 1];
ranks come from `Scores.passages`, and ties fall by lot. `ci` holds 95% bootstrap intervals over
queries, `minus_lexical` the paired difference as {mean, ci, n} by metric: to "given" where that was
run, else to "lexical". `slot` is where the one gold passage was moved to; null leaves it where it
was found. `ms` is the median time of one ranking, all but the first slot with known blocks. On a
BEIR folder BM25's best 50, by the index of this repo, are ranked again; "given" is their own order.

With `--json`, rankings are kept in FILE.log.jsonl as they come, and the same command goes on there.
"""

from __future__ import annotations

import sys
import time
from operator import getitem, itemgetter
from statistics import median
from typing import TYPE_CHECKING, Any

from .entries import Entry, grouped, parser, write
from .ir import METRICS, Task, evaluate, tasks
from .log import Log, code
from .stats import averages, differences

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from foveate import Proxy

GIVEN = "given"
LEXICAL = "lexical"
DEFAULT = "fused"
LABELS = tuple(METRICS.values())

Slot = int | str | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    from foveate import load_proxy

    args = _arguments(arguments)
    proxy = load_proxy(args.proxy)
    settings = {"proxy": proxy.fingerprint, "skip": args.skip, "code": code()}
    path = args.json and args.json.with_suffix(".log.jsonl")
    log = Log(path, settings, fresh=args.fresh, mixed=args.mixed)
    for data in args.data:
        name, found = data.name.split(".")[0], tasks(data, args.limit, args.skip)
        run(proxy, log, name, found, args.systems, args.slots)
        for row in (row for row in rows(log.entries) if row["data"] == name):
            print(line(row), flush=True)
        write(args.json, rows(log.entries))
    return 0


def slots(text: str) -> list[Slot]:
    """Read a list of slots: "first,last,0..3" is ["first", "last", 0, 1, 2, 3]."""
    found: list[Slot] = []
    for part in filter(None, text.split(",")):
        low, dots, high = part.partition("..")
        if dots:
            found += range(int(low), int(high) + 1)
        else:
            found.append(int(part) if part.isdigit() else part)
    return found or [None]


def run(
    proxy: Proxy,
    log: Log,
    data: str,
    found: Sequence[Task],
    systems: Sequence[str],
    places: Sequence[Slot],
) -> None:
    """Add to the log what is not in it yet: query by query, so that its blocks serve all slots."""
    key = itemgetter("data", "system", "slot", "record")
    known = {key(entry) for entry in log.entries}
    for task in found:
        for system in systems:
            for slot in places:
                entry: Entry = {"data": data, "system": system, "slot": slot, "record": task.id}
                if key(entry) not in known:
                    log.add([entry | measure(task.at(slot), system, proxy)])


def measure(task: Task, system: str, proxy: Proxy) -> dict[str, float]:
    """The metrics of one ranking, and its milliseconds."""
    start = time.perf_counter()
    scores = rank(task, system, proxy)
    spent = (time.perf_counter() - start) * 1000
    return {**evaluate(task, scores), "ms": spent}


def rank(task: Task, system: str, proxy: Proxy) -> list[float]:
    """A score for each passage of a task."""
    from foveate.compressors.base import SCORERS, Candidates

    if system == GIVEN:
        return [float(-place) for place in range(len(task.passages))]
    scorer = SCORERS.make(DEFAULT if system == "default" else system)
    candidates = Candidates(task.query, task.passages, proxy=proxy)
    return [float(score) for score in scorer.score(candidates).passages]


def rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One row for each data set, system and slot, in their order."""
    groups = grouped(entries, "data", "system", "slot")
    found = []
    for (data, system, slot), ours in groups.items():
        base = groups.get((data, GIVEN, slot)) or groups.get((data, LEXICAL, slot))
        row = _row(data, system, slot, list(ours.values()))
        if base and base is not ours:
            row["minus_lexical"] = differences(ours, base, LABELS, getitem)
        found.append(row)
    return found


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    place = "" if row["slot"] is None else f" at {row['slot']}"
    values = " ".join(
        f"{label} {row[label]:.3f} [{row['ci'][label][0]:.2f},{row['ci'][label][1]:.2f}]"
        for label in LABELS
    )
    return (
        f"{row['data']:14} {row['system'] + place:20} n={row['n']:<4} {values} {row['ms']:.0f} ms"
    )


def _row(data: str, system: str, slot: Slot, entries: Sequence[Entry]) -> dict[str, Any]:
    means, intervals = averages(entries, LABELS, getitem)
    return {
        "system": system,
        "data": data,
        "slot": slot,
        "n": len(entries),
        **means,
        "ms": round(median(e["ms"] for e in entries), 1),
        "ci": intervals,
    }


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    found = parser("ranking", __doc__)
    systems = ["default", LEXICAL]
    found.add_argument("--systems", type=lambda text: text.split(","), default=systems)
    found.add_argument("--slots", type=slots, default=[None], help="first,middle,last,0..19")
    return found.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
