"""What a generator answers from each context: token F1, exact match, citations.

    python -m bench.answers --data FILE... --budget 0.1 0.3 --systems default,full --limit 50
    python -m bench.answers --data FILE --model NAME --base-url http://localhost:8000/v1

The generator is the proxy's own model in this process, or, with `--model`, any OpenAI-compatible
endpoint (`--base-url`, OPENAI_API_KEY). It is told to answer in a few words and to cite its source.

One row per data set, system and budget: {system, data, budget, generator, n, refused, f1,
exact_match, subspan_match, citation_precision, citation_recall, cited, kept_share, ms, ci,
minus_lexical}. Numbers in [0, 1] but for `ms`, the median time of an answer, and `refused`, the
records whose prompt the generator had no room for; those count in nothing else. `subspan_match` is
the share of answers in which an accepted one stands, for generators that answer in sentences.
`citation_precision` is the share of cited passages that are gold, over the answers that cite;
`cited` is the share of answers that do. Null where the data has no such label. `ci` holds 95%
bootstrap intervals over records, `minus_lexical` the paired difference to BM25 as {mean, ci, n}.
"full" is the input without a budget.

With `--json`, answers are kept in FILE.log.jsonl as they come, and the same command goes on there.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from operator import getitem, itemgetter
from statistics import median
from typing import TYPE_CHECKING, Any

from .data import SEED, load
from .entries import Entry, grouped, parser, write
from .log import Log, code
from .qa import citation_precision, citation_recall, exact_match, f1, subspan_match, uncited
from .stats import averages, differences
from .systems import WHOLE, Bench

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from foveate import Context, Proxy
    from foveate.rag.generators import Generator

    from .data import Record

INSTRUCTION = (
    "Answer the question from the sources alone, in as few words as you can, with no sentence "
    "around it. Then put the number of the source in brackets. Example: Paris [2]"
)
MAX_TOKENS = 48
FULL, LEXICAL = "full", "lexical"
LABELS = ("f1", "exact_match", "subspan_match", "citation_precision", "citation_recall", "cited")
MEANS = (*LABELS, "kept_share")

Budget = int | float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    from foveate import load_proxy

    args = _arguments(arguments)
    proxy = load_proxy(args.proxy)
    with generator_of(proxy, args.model, args.base_url) as generator:
        settings = {
            "proxy": proxy.fingerprint,
            "generator": generator.name,
            "endpoint": args.base_url,
            "max_tokens": args.max_tokens,
            "seed": args.seed,
            "skip": args.skip,
            "code": code(),
        }
        path = args.json and args.json.with_suffix(".log.jsonl")
        log = Log(path, settings, fresh=args.fresh, mixed=args.mixed)
        ask = Asker(proxy, generator, args.max_tokens)
        for data in args.data:
            name = data.name.split(".")[0]
            records = load(data, args.limit, args.skip, args.seed)
            run(ask, log, name, records, args.systems, args.budget)
            for row in (r for r in rows(log.entries, generator.name) if r["data"] == name):
                print(line(row), flush=True)
            write(args.json, rows(log.entries, generator.name))
    return 0


@contextmanager
def generator_of(proxy: Proxy, model: str | None, base_url: str | None) -> Iterator[Generator]:
    """The endpoint's model if one is named, else the proxy's own; both greedy."""
    from foveate.rag.generators import OpenAIGenerator, TransformersGenerator

    if model is None:
        yield TransformersGenerator.from_proxy(proxy, instruction=INSTRUCTION)
        return
    with OpenAIGenerator(
        model, base_url=base_url, instruction=INSTRUCTION, temperature=0.0
    ) as generator:
        yield generator


class Asker:
    """Makes a context of a record and has the question answered from it.

    Args:
        proxy: Reads.
        generator: Answers.
        max_tokens: Longest answer.
    """

    def __init__(self, proxy: Proxy, generator: Generator, max_tokens: int = MAX_TOKENS) -> None:
        from foveate import Engine

        self.generator, self.max_tokens = generator, max_tokens
        self._engine, self._bench = Engine(proxy), Bench(proxy)

    def ask(self, record: Record, system: str, budget: Budget) -> Entry:
        """What was answered, and what it is worth; a refusal is an entry with no values."""
        from foveate.blocks.errors import InputError

        context = self.context(record, system, budget)
        start = time.perf_counter()
        try:
            answer = self.generator.generate(context, max_tokens=self.max_tokens)
        except InputError as fault:  # the prompt is longer than the generator's window
            return {**dict.fromkeys((*MEANS, "ms")), "answer": None, "refused": str(fault)}
        spent = (time.perf_counter() - start) * 1000
        return {**judged(record, answer, context), "ms": spent, "answer": answer, "refused": None}

    def context(self, record: Record, system: str, budget: Budget) -> Context:
        """The numbered context that a system makes within a budget."""
        from foveate import Options
        from foveate.rag.render import Style

        scorer = self._bench.scorers(LEXICAL if system == FULL else system)[0]
        options = Options(WHOLE if system == FULL else budget, style=Style(numbered=True))
        return self._engine.compress(record.query, record.passages, options, scorer=scorer)


def judged(record: Record, answer: str, context: Context) -> dict[str, float | None]:
    """What an answer is worth."""
    from foveate.rag.prompt import cited

    said = uncited(answer)
    accepted = record.answers or ((record.reference,) if record.reference else ())
    sources = [citation.index for citation in cited(answer, context)]
    return {
        "f1": f1(said, accepted) if accepted else None,
        "exact_match": exact_match(said, accepted) if accepted else None,
        "subspan_match": subspan_match(said, accepted) if accepted else None,
        "citation_precision": citation_precision(sources, record.gold_passages),
        "citation_recall": citation_recall(sources, record.gold_passages),
        "cited": float(bool(sources)),
        "kept_share": context.ratio,
    }


def run(
    ask: Asker,
    log: Log,
    data: str,
    records: Sequence[Record],
    systems: Sequence[str],
    budgets: Sequence[Budget],
) -> None:
    """Add to the log what is not in it yet, record by record."""
    key = itemgetter("data", "system", "budget", "record")
    known = {key(entry) for entry in log.entries}
    for record in records:
        for system in systems:
            for budget in [WHOLE] if system == FULL else budgets:
                entry: Entry = {
                    "data": data,
                    "system": system,
                    "budget": budget,
                    "record": record.id,
                }
                if key(entry) not in known:
                    log.add([entry | ask.ask(record, system, budget)])


def rows(entries: Sequence[Entry], generator: str) -> list[dict[str, Any]]:
    """One row for each data set, system and budget, in their order."""
    groups = grouped(entries, "data", "system", "budget")
    found = []
    for (data, system, budget), ours in groups.items():
        row: Entry = {"system": system, "data": data, "budget": budget, "generator": generator}
        row |= _summary(list(ours.values()))
        base = groups.get((data, LEXICAL, budget))
        if base and base is not ours:
            row["minus_lexical"] = differences(ours, base, LABELS, getitem)
        found.append(row)
    return found


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    parts = [f"{row['data']:18} {row['budget']:<5} {row['system']:16} n={row['n']:<4}"]
    for label in LABELS:
        if row[label] is not None:
            low, high = row["ci"][label]
            parts.append(f"{label} {row[label]:.3f} [{low:.2f},{high:.2f}]")
    if row["kept_share"] is not None:
        parts.append(f"kept {row['kept_share']:.3f} {row['ms']:.0f} ms")
    if row["refused"]:
        parts.append(f"no room for {row['refused']}")
    return " ".join(parts)


def _summary(entries: Sequence[Entry]) -> dict[str, Any]:
    answered = [entry for entry in entries if entry["refused"] is None]
    means, intervals = averages(answered, MEANS, getitem)
    return {
        "n": len(answered),
        "refused": len(entries) - len(answered),
        **means,
        "ms": round(median(entry["ms"] for entry in answered), 1) if answered else None,
        "ci": intervals,
    }


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    from .quality import budget_of

    found = parser("answers", __doc__)
    systems = ["default", LEXICAL, FULL]
    found.add_argument("--budget", type=budget_of, nargs="+", default=[0.3])
    found.add_argument("--systems", type=lambda text: text.split(","), default=systems)
    found.add_argument("--model", help="of the endpoint; without it the proxy's model answers")
    found.add_argument("--base-url", help="the endpoint, up to and with /v1")
    found.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    found.add_argument("--seed", type=int, default=SEED)
    return found.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
