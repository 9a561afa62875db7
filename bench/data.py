"""Benchmark records in the three labelled forms, read into one shape.

- evidence: passages as sentence lists, `evidence` names the gold sentences
- passage: passages as text; the answer strings alone are used, a passage is no unit
- span: one passage, `answer_spans` names the answer's characters; nine other passages of the file
join it
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foveate import Passage
from foveate.compressors.examples import join, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DISTRACTORS = 9
SEED = 0

GoldSpan = tuple[int, int, int]
"""(passage index, first character, one past the last)."""


@dataclass(frozen=True, slots=True)
class Record:
    """One question with its passages and what is known about the answer.

    Attributes:
        question: The query.
        passages: What a retriever would have returned.
        gold: Spans that the answer needs; empty where the data has no such label.
        answers: Accepted answer strings.
    """

    question: str
    passages: tuple[Passage, ...]
    gold: tuple[GoldSpan, ...]
    answers: tuple[str, ...]


def load(path: Path, limit: int | None = None) -> list[Record]:
    """The first `limit` records of a JSON-lines file, gzipped or not."""
    rows = list(_rows(path))
    used = rows[:limit]
    if rows and "answer_spans" in rows[0]:
        return [_span_record(row, rows) for row in used]
    return [_record(row) for row in used]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    yield from (json.loads(line) for line in read_text(path).split("\n") if line.strip())


def _record(row: dict[str, Any]) -> Record:
    wanted = {(passage, sentence) for passage, sentence in row.get("evidence", ())}
    passages, gold = [], []
    for i, source in enumerate(row["passages"]):
        if "sentences" in source:
            text, spans = join(source["sentences"])
            gold += [(i, *spans[j]) for j in range(len(spans)) if (i, j) in wanted]
        else:
            text = source["text"]
        passages.append(Passage(text, str(source["id"]), source["title"]))
    return Record(row["question"], tuple(passages), tuple(gold), tuple(row["answers"]))


def _span_record(row: dict[str, Any], rows: list[dict[str, Any]]) -> Record:
    rng = random.Random(f"{SEED}/{row['id']}")
    own = row["passages"][0]
    others = {p["text"]: p for other in rows for p in other["passages"] if p["text"] != own["text"]}
    chosen = rng.sample(sorted(others), min(DISTRACTORS, len(others)))
    sources = [own, *(others[text] for text in chosen)]
    rng.shuffle(sources)
    at = sources.index(own)
    gold = tuple((at, span["start"], span["end"]) for span in row["answer_spans"][:1])
    passages = tuple(Passage(s["text"], str(n), s["title"]) for n, s in enumerate(sources))
    return Record(row["question"], passages, gold, tuple(row["answers"]))
