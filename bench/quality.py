"""How much of what the answer needs is still there: evidence recall, chain rate, answer survival.

    python -m bench.quality --data FILE --budget 0.3 --systems default,lexical,random --limit 100
    --json out.json

One row per system: {system, data, budget, n, evidence_recall, chain_rate, answer_survival,
kept_share, ms_cold, ms_warm, ci}. Numbers in [0, 1] but for milliseconds, which are medians; null
where the data has no such label. `ci` holds 95% bootstrap intervals over records. "default" is
what `foveate.compress` does when nothing is chosen; "random" is the mean of three seeds.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate import Engine, Options, load_proxy
from foveate.compressors.random import Random

from .data import Record, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foveate import Context, Proxy

RESAMPLES = 2000
RANDOM_SEEDS = (0, 1, 2)
LABELS = ("evidence_recall", "chain_rate", "answer_survival", "kept_share")
UNANSWERABLE_BY_STRING = {"yes", "no", "maybe", "support", "contradict", "supports", "refutes"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One record under one system; None where it has no such label."""

    evidence_recall: float | None
    chain_rate: float | None
    answer_survival: float | None
    kept_share: float
    ms_cold: float
    ms_warm: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; exit code 0 unless a context was over its budget."""
    args = _arguments(arguments)
    proxy = load_proxy(args.proxy)
    rows = []
    outcomes: dict[str, list[Outcome]] = {}
    for path in args.data:
        records = load(path, args.limit)
        for system in args.systems.split(","):
            outcomes[system] = _run(system, records, args.budget, proxy)
            row = summarise(system, path.name.split(".")[0], args.budget, outcomes[system])
            rows.append(row)
            print(_line(row), flush=True)
        _compare(outcomes)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def measure(
    record: Record, compress: Callable[[Record], Context], forget: Callable[[], None]
) -> Outcome:
    """Compress a record twice, with blocks unknown and known, and see what is left."""
    forget()
    context, cold = _timed(compress, record)
    _, warm = _timed(compress, record)
    if context.degraded or context.tokens_after > context.limit:
        raise AssertionError(f"{context!r} for {record.question!r}")
    held = [_is_kept(context, record, span) for span in record.gold]
    return Outcome(
        evidence_recall=fmean(held) if held else None,
        chain_rate=float(all(held)) if held else None,
        answer_survival=survival(record, context.text),
        kept_share=context.ratio,
        ms_cold=cold,
        ms_warm=warm,
    )


def survival(record: Record, text: str) -> float | None:
    """1 if an answer string is in the text, else 0; None if the source lacks it as well."""
    whole = "\n".join(f"{p.title}\n{p.text}" for p in record.passages)
    present = [a for a in map(_plain, record.answers) if _stands_in(a, _plain(whole))]
    if not present:
        return None
    return float(any(_stands_in(answer, _plain(text)) for answer in present))


def summarise(system: str, data: str, budget: float, outcomes: list[Outcome]) -> dict[str, Any]:
    """Means with bootstrap intervals, and median times."""
    means: dict[str, float | None] = {}
    intervals: dict[str, list[float] | None] = {}
    for label in LABELS:
        values = [v for o in outcomes if (v := getattr(o, label)) is not None]
        means[label] = round(fmean(values), 4) if values else None
        intervals[label] = interval(values) if values else None
    return {
        "system": system,
        "data": data,
        "budget": budget,
        "n": len(outcomes),
        **means,
        "ms_cold": round(median(o.ms_cold for o in outcomes), 1),
        "ms_warm": round(median(o.ms_warm for o in outcomes), 1),
        "ci": intervals,
    }


def interval(values: Sequence[float]) -> list[float]:
    """95% bootstrap interval of the mean, seeded."""
    rng = np.random.default_rng(0)
    data = np.asarray(values)
    means = data[rng.integers(0, len(data), (RESAMPLES, len(data)))].mean(1)
    return [round(float(q), 4) for q in np.quantile(means, (0.025, 0.975))]


def _run(system: str, records: list[Record], budget: float, proxy: Proxy) -> list[Outcome]:
    options = Options(budget=budget)
    if system != "random":
        scorer = "fused" if system == "default" else system
        return [
            _outcome(record, Engine(proxy, scorer=scorer), options, proxy) for record in records
        ]
    engines = [Engine(proxy, scorer=Random(seed)) for seed in RANDOM_SEEDS]
    return [_mean([_outcome(record, e, options, proxy) for e in engines]) for record in records]


def _outcome(record: Record, engine: Engine, options: Options, proxy: Proxy) -> Outcome:
    def compress(record: Record) -> Context:
        return engine.compress(record.question, record.passages, options)

    return measure(record, compress, proxy.store.clear)


def _mean(outcomes: list[Outcome]) -> Outcome:
    def of(name: str) -> Any:
        values = [getattr(o, name) for o in outcomes]
        return None if values[0] is None else fmean(values)

    return Outcome(**{name: of(name) for name in Outcome.__slots__})


def _timed(compress: Callable[[Record], Context], record: Record) -> tuple[Context, float]:
    start = time.perf_counter()
    context = compress(record)
    return context, (time.perf_counter() - start) * 1000


def _is_kept(context: Context, record: Record, span: tuple[int, int, int]) -> bool:
    """Whether every visible character of a gold span is in a kept piece."""
    passage, start, end = span
    text = record.passages[passage].text
    covered = {
        i
        for piece in context.kept
        if piece.passage == passage
        for i in range(max(piece.start, start), min(piece.end, end))
    }
    return all(i in covered or text[i].isspace() for i in range(start, end))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _stands_in(answer: str, text: str) -> bool:
    if not answer or answer in UNANSWERABLE_BY_STRING:
        return False
    # Word edges where the answer has them, so that "308" is not found in "1308".
    left = r"(?<!\w)" if answer[0].isascii() and answer[0].isalnum() else ""
    right = r"(?!\w)" if answer[-1].isascii() and answer[-1].isalnum() else ""
    return re.search(left + re.escape(answer) + right, text) is not None


def _line(row: dict[str, Any]) -> str:
    def show(label: str) -> str:
        value, bounds = row[label], row["ci"][label]
        return (
            "      -        " if value is None else f"{value:.3f} [{bounds[0]:.2f},{bounds[1]:.2f}]"
        )

    return (
        f"{row['data']:18} {row['budget']:<5} {row['system']:16} n={row['n']:<4} "
        f"recall {show('evidence_recall')} "
        f"chain {show('chain_rate')} answer {show('answer_survival')} kept {row['kept_share']:.3f} "
        f"cold {row['ms_cold']:.0f} ms warm {row['ms_warm']:.0f} ms"
    )


def _compare(outcomes: dict[str, list[Outcome]]) -> None:
    """The paired difference of the default to BM25, with its interval."""
    if not {"default", "lexical"} <= outcomes.keys():
        return
    for label in LABELS[:3]:
        pairs = [
            (getattr(a, label), getattr(b, label))
            for a, b in zip(outcomes["default"], outcomes["lexical"], strict=True)
        ]
        gains = [a - b for a, b in pairs if a is not None and b is not None]
        if gains:
            print(f"  default - lexical, {label}: {fmean(gains):+.4f} {interval(gains)}")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--budget", type=float, default=0.3)
    parser.add_argument("--systems", default="default,lexical,random")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--proxy", default="default")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
