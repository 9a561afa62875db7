"""Benchmark records in the labelled forms, read into one shape.

- evidence: passages as sentence lists, `evidence` names the gold sentences
- passage: passages as text, `is_gold` marks those that answer; passages with a label of their own
  are single sentences, and the gold ones among them are evidence
- span: one passage, `answer_spans` names the answer's characters; nine other passages of the file
  join it
- conversation: passage form with the turns before the question; passages of other conversations on
  the same collection join until there are ten, so that one that cannot be answered has some too
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

    from foveate.blocks.conversation import Query

DISTRACTORS = 9
SEED = 0

GoldSpan = tuple[int, int, int]
"""(passage index, first character, one past the last)."""


@dataclass(frozen=True, slots=True)
class Record:
    """One question with its passages and what is known about the answer.

    Attributes:
        question: The question, alone.
        passages: What a retriever would have returned.
        gold: Spans that the answer needs; empty where the data has no such label.
        answers: Accepted answer strings.
        id: The record's name in its file.
        reference: An answer in sentences, of which the wording is free; empty if there is none.
        answerable: Whether some passage holds the answer; None if the data does not say.
        gold_passages: Indices of the passages that hold it; empty where there is no such label.
        history: (role, text) of the turns before the question, oldest first.
    """

    question: str
    passages: tuple[Passage, ...]
    gold: tuple[GoldSpan, ...]
    answers: tuple[str, ...]
    id: str = ""
    reference: str = ""
    answerable: bool | None = None
    gold_passages: frozenset[int] = frozenset()
    history: tuple[tuple[str, str], ...] = ()

    @property
    def query(self) -> Query:
        """What the product is asked: the question, or the conversation that ends with it."""
        if not self.history:
            return self.question
        turns = [*self.history, ("user", self.question)]
        return [{"role": role, "content": text} for role, text in turns]


def load(path: Path, limit: int | None = None, skip: int = 0, seed: int = SEED) -> list[Record]:
    """`limit` records of a JSON-lines file, gzipped or not, after the first `skip`.

    Args:
        path: The file.
        limit: How many records; None is all.
        skip: Records left out before the first.
        seed: Draws the passages that join a record.
    """
    rows = list(_rows(path))
    used = rows[skip:][:limit]
    if rows and "answer_spans" in rows[0]:
        return [_span_record(row, rows, seed) for row in used]
    if rows and "conversation" in rows[0]:
        return [_conversation(row, rows, seed) for row in used]
    return [_record(row) for row in used]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    yield from (json.loads(line) for line in read_text(path).split("\n") if line.strip())


def _record(row: dict[str, Any]) -> Record:
    wanted = {(passage, sentence) for passage, sentence in row.get("evidence", ())}
    sources = row["passages"]
    passages: list[Passage] = []
    gold: list[GoldSpan] = []
    for i, source in enumerate(sources):
        if "sentences" in source:
            text, spans = join(source["sentences"])
            gold += [(i, *spans[j]) for j in range(len(spans)) if (i, j) in wanted]
        else:
            text = source["text"]
            if "label" in source and source["is_gold"]:
                gold.append((i, 0, len(text)))
        passages.append(Passage(text, str(source["id"]), source["title"]))
    marked = {i for i, source in enumerate(sources) if source.get("is_gold")}
    says = all("is_gold" in source for source in sources)
    return Record(
        row["question"],
        tuple(passages),
        tuple(gold),
        tuple(row["answers"]),
        id=str(row["id"]),
        reference=row.get("long_answer", ""),
        answerable=bool(marked) if says else None,
        gold_passages=frozenset(marked | {i for i, _ in wanted}),
    )


def _span_record(row: dict[str, Any], rows: list[dict[str, Any]], seed: int) -> Record:
    rng = random.Random(f"{seed}/{row['id']}")
    own = row["passages"][0]
    others = {p["text"]: p for other in rows for p in other["passages"] if p["text"] != own["text"]}
    chosen = rng.sample(sorted(others), min(DISTRACTORS, len(others)))
    sources = [own, *(others[text] for text in chosen)]
    rng.shuffle(sources)
    at = sources.index(own)
    return Record(
        row["question"],
        tuple(Passage(s["text"], str(n), s["title"]) for n, s in enumerate(sources)),
        tuple((at, span["start"], span["end"]) for span in row["answer_spans"][:1]),
        tuple(row["answers"]),
        id=str(row["id"]),
        gold_passages=frozenset({at}),
    )


def _conversation(row: dict[str, Any], rows: list[dict[str, Any]], seed: int) -> Record:
    rng = random.Random(f"{seed}/{row['id']}")
    dialogue = row["id"].split("<")[0]
    others = {
        p["text"]: p
        for other in rows
        if other.get("collection") == row.get("collection")
        and other["id"].split("<")[0] != dialogue
        for p in other["passages"]
    }
    own = list(row["passages"])
    free = sorted(others.keys() - {p["text"] for p in own})
    missing = max(0, DISTRACTORS + 1 - len(own))
    filling = [others[text] for text in rng.sample(free, min(missing, len(free)))]
    sources = [*own, *({**p, "is_gold": False} for p in filling)]
    rng.shuffle(sources)
    gold = frozenset(i for i, source in enumerate(sources) if source["is_gold"])
    history = [t for t in row["conversation"] if t["text"].strip()]
    if history and history[-1]["text"].strip() == row["question"].strip():
        history = history[:-1]
    return Record(
        row["question"],
        tuple(Passage(s["text"], f"{s['id']}/{n}", s["title"]) for n, s in enumerate(sources)),
        (),
        (),
        id=str(row["id"]),
        reference=row["answers"][0] if gold else "",
        answerable=bool(gold),
        gold_passages=gold,
        history=tuple(
            ("user" if turn["speaker"] == "user" else "assistant", turn["text"]) for turn in history
        ),
    )
