"""Ranking tasks: passages with gold ones among them, and what a metric library makes of an order.

A task comes from a labelled file (`bench.data`), or from a folder in the form of BEIR: BM25's best
of the corpus, by the index of this repo, to be ranked again.
"""

from __future__ import annotations

import csv
import json
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate import Passage
from foveate.blocks.conversation import standalone
from foveate.blocks.errors import MissingExtraError
from foveate.compressors.examples import read_text

from .data import SEED, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEPTH = 50
METRICS = {
    "R@1": "recall_at_1",
    "R@2": "recall_at_2",
    "R@5": "recall_at_5",
    "nDCG@10": "ndcg_at_10",
    "RR": "mrr",
}


@dataclass(frozen=True, slots=True)
class Task:
    """One query with passages to rank.

    Attributes:
        id: Name of the query.
        query: The query, standing alone.
        passages: What to rank, as retrieved.
        relevant: Grade of each relevant passage, by id; also of those that were not retrieved.
    """

    id: str
    query: str
    passages: tuple[Passage, ...]
    relevant: dict[str, int]

    def at(self, slot: int | str | None) -> Task:
        """The same with the gold passage at a slot: an index, "first", "middle" or "last".

        Raises:
            ValueError: There is not one gold passage alone, or no such slot.
        """
        if slot is None:
            return self
        gold = [p for p in self.passages if p.id in self.relevant]
        if len(gold) != 1:
            raise ValueError(f"record {self.id} has {len(gold)} gold passages; a slot is for one")
        last = len(self.passages) - 1
        place = {"first": 0, "middle": last // 2, "last": last}.get(str(slot), slot)
        if not isinstance(place, int) or not 0 <= place <= last:
            raise ValueError(f"slot {slot!r} is not within 0..{last} or first, middle, last")
        others = [p for p in self.passages if p.id not in self.relevant]
        return Task(self.id, self.query, (*others[:place], gold[0], *others[place:]), self.relevant)


def tasks(path: Path, limit: int | None = None, skip: int = 0) -> list[Task]:
    """Tasks of a labelled file, or of a BEIR folder; records without a gold passage are left out.

    Raises:
        ValueError: No record has one.
    """
    found = _beir(path, limit, skip) if path.is_dir() else _labelled(path, limit, skip)
    if not found:
        raise ValueError(f"{path}: no record names a gold passage")
    return found


def evaluate(task: Task, scores: Sequence[float]) -> dict[str, float]:
    """Metrics of the order that scores give; ties fall by lot, for a place is no evidence."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("ir-measures", "bench") from error
    order = list(range(len(scores)))
    random.Random(f"{SEED}/{task.id}").shuffle(order)
    order.sort(key=lambda i: -scores[i])
    # By position, not by score: the library would break ties by the passages' names.
    run = {task.passages[i].id: float(-place) for place, i in enumerate(order)}
    measures = [ir_measures.parse_measure(name) for name in METRICS]
    found = ir_measures.calc_aggregate(measures, {task.id: task.relevant}, {task.id: run})
    return {label: float(found[m]) for m, label in zip(measures, METRICS.values(), strict=True)}


def _labelled(path: Path, limit: int | None, skip: int) -> list[Task]:
    records = load(path, limit, skip)
    return [
        Task(r.id, standalone(r.query), _named(r.passages), {str(i): 1 for i in r.gold_passages})
        for r in records
        if r.gold_passages
    ]


def _named(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    # By place, for ids in the files are not always of one passage alone.
    return tuple(Passage(p.text, str(i), p.title) for i, p in enumerate(passages))


def _beir(folder: Path, limit: int | None, skip: int) -> list[Task]:
    from foveate.rag.index import Index

    relevant = _qrels(folder / "qrels.tsv")
    rows = [row for row in _lines(folder / "queries.jsonl.gz") if row["_id"] in relevant]
    with (
        tempfile.TemporaryDirectory() as place,
        Index.create(Path(place) / "index", embedder=None) as index,
    ):
        index.add(
            Passage(row["text"], row["_id"], row["title"])
            for row in _lines(folder / "corpus.jsonl.gz")
        )
        bm25 = index.retriever("lexical")
        found = []
        for row in rows[skip:][:limit]:
            hits = bm25.retrieve(row["text"], DEPTH)
            passages = tuple(Passage(h.passage.text, h.passage.id, h.passage.title) for h in hits)
            found.append(Task(row["_id"], row["text"], passages, relevant[row["_id"]]))
        return [task for task in found if task.passages]


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    relevant: dict[str, dict[str, int]] = {}
    for row in csv.DictReader(read_text(path).splitlines(), delimiter="\t"):
        if int(row["score"]) > 0:
            relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return relevant


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    yield from (json.loads(line) for line in read_text(path).split("\n") if line.strip())
