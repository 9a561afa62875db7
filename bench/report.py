"""The page of results and its pictures, from rows that were measured before.

    python -m bench.report

Reads all rows in `bench/results/*.json`, of `bench.quality`, `bench.ranking` and `bench.answers`,
and writes `docs/benchmarks.md` and a picture a data set, as SVG and PNG, in `docs/benchmarks/`.
`bench/results/notes.md`, if there is one, stands at the top: what the results were taken on.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .plot import draw
from .rows import FAIR
from .tables import UNFAIR, Row, measured_table, quality_table, remarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[1]

INTRODUCTION = """# Benchmarks

Everything here was measured with the commands at the end, on the default proxy unless a row says
otherwise; `make bench` writes this page from `bench/results/`. Nobody else's figures stand here.
"""

QUALITY = f"""## Quality

What is left of what the answer needs, at equal budget. Every system fills the same budget of the
rendered context, titles included; a budget is a share of the input, or tokens of the proxy's
tokenizer.

- *evidence*: share of gold spans kept whole; *chain*: share of records with all of them kept
- *answer*: share of records in whose context an answer string still stands, of those whose passages
  held one
- *coverage*: share of the words of a reference answer that the passages held and the context still
  does, but for the question's own
- *dangling*: share of kept units that open with a pronoun, a demonstrative, a connective or a bare
  definite noun whose antecedent was dropped and which no title explains, as
  `compressors/dangling.py` says in full; other systems than scorers keep no units
- *kept*: the budget as it was realised, share of the input's tokens

In parentheses 95% bootstrap intervals over records; the difference of the default to BM25 is
paired, record by record. The best of a column is bold. {UNFAIR}: kept over {FAIR} less than the
fullest system at that budget, so no comparison at equal budget. `random` is the mean of three
seeds, `lead` the first units of each passage, round robin, `truncate` the passages one after
another, cut at the budget.
"""

RANKING = """## Ranking

Passages ranked by each method, by ir-measures: recall of the gold passages among the first 1, 2 and
5, nDCG@10, mean reciprocal rank. *slot*: where the one gold passage was moved to in the input. In
the forms of BEIR BM25's best 50 are ranked again; `given` is their own order. The last column is
the paired difference.
"""

ANSWERS = """## Answers

What a generator answers from each context. *f1*, *exact match*: as SQuAD has them; *subspan match*:
an accepted answer stands in the answer; *citation precision*: share of the cited passages that hold
the answer; *citation recall*: share of those that hold it that are cited; *cited*: share of answers
that cite at all; *refused*: records whose prompt the generator had no room for.
"""

SELECTION = """## Selection

The same scores and the same costs, four ways to fill the budget. *greedy*: from the most to the
least relevant, what does not fit is skipped; this is what ships. *first-fail*: the same, up to the
first that does not fit. *density*: by score per token. *exact*: the highest sum of scores, by
dynamic programming. The last column is the paired difference to greedy; *ms* the rule alone.
"""

COMPARED = {"ranking": "ndcg_at_10", "answers": "f1", "selection": "evidence_recall"}

AGAIN = """## To measure again

The forms of data files are described in `bench/data.py`. A run that was cut off goes on where it
was.

```bash
make bench DATA="hotpotqa.jsonl.gz musique.jsonl.gz"   # measure quality, then write this page
make bench                                             # write this page from bench/results/
python -m bench.quality --help
python -m bench.ranking --help
python -m bench.answers --help
python -m bench.selection --help
```
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and the pictures."""
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks.md")
    args = parser.parse_args(arguments)
    rows = read(args.results)
    pictures = args.page.with_suffix("")
    for data, of_data in by_data(quality_of(rows)).items():
        draw(data, of_data, pictures)
    notes = args.results / "notes.md"
    text = notes.read_text(encoding="utf-8") if notes.exists() else ""
    args.page.write_text(page(rows, pictures.name, text), encoding="utf-8")
    return 0


def read(folder: Path) -> list[Row]:
    """All rows of a folder.

    Raises:
        ValueError: Two rows are about the same, or there are none.
    """
    found: dict[tuple[object, ...], Path] = {}
    rows = []
    for path in sorted(folder.glob("*.json")):
        for row in json.loads(path.read_text()):
            key = (
                kind(row),
                *(row.get(k) for k in ("data", "system", "budget", "slot", "generator", "rule")),
            )
            if key in found:
                raise ValueError(f"{path} and {found[key]} both have {key}; keep one")
            found[key] = path
            rows.append(row)
    if not rows:
        raise ValueError(f"{folder} holds no rows; run python -m bench.quality --json there")
    return rows


def kind(row: Row) -> str:
    """Which benchmark a row comes from."""
    if "rule" in row:
        return "selection"
    if "evidence_recall" in row:
        return "quality"
    return "ranking" if "ndcg_at_10" in row else "answers"


def quality_of(rows: Iterable[Row]) -> list[Row]:
    """Those of `bench.quality`."""
    return [row for row in rows if kind(row) == "quality"]


def by_data(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by data set, by name."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["data"], []).append(row)
    return dict(sorted(found.items()))


def page(rows: Sequence[Row], pictures: str, notes: str = "") -> str:
    """The page as Markdown.

    Args:
        rows: Of all benchmarks.
        pictures: Folder of the pictures, as the page links it.
        notes: What stands at the top.
    """
    parts = [INTRODUCTION, notes.strip()]
    quality = by_data(quality_of(rows))
    if quality:
        parts.append(QUALITY)
    for data, of_data in quality.items():
        parts += [
            f"### {data}",
            f"{max(row['n'] for row in of_data)} records.",
            f"[![{data}: quality against tokens]({pictures}/{data}.svg)]({pictures}/{data}.png)",
            "\n".join(quality_table(of_data)),
            "\n".join(f"- {remark}" for remark in remarks(of_data)),
        ]
    for name, text in (("ranking", RANKING), ("selection", SELECTION), ("answers", ANSWERS)):
        of_kind = by_data(row for row in rows if kind(row) == name)
        if of_kind:
            parts.append(text)
        for data, of_data in of_kind.items():
            parts += [f"### {data}, {name}", "\n".join(measured_table(of_data, COMPARED[name]))]
    return "\n\n".join(part.strip() for part in [*parts, AGAIN] if part.strip()) + "\n"


if __name__ == "__main__":
    sys.exit(main())
