"""Records whose evidence is known: what heads, probes and readers are fitted on.

Two forms, as JSON lines, gzipped or not:

- evidence: `passages` as sentence lists, `evidence` names the gold sentences as [passage, sentence]
- passage: `passages` as text, `is_gold` marks those that answer; `answers` finds the sentence
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.blocks.segment import segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from foveate.blocks.candidates import Candidates

Span = tuple[int, int, int]
"""(passage, start, end) in characters."""


@dataclass(frozen=True)
class Example:
    """A question, its passages, and its evidence.

    Attributes:
        question: The query.
        passages: What a retriever would have returned.
        gold: Spans that are all needed.
        any_of: Spans of which one is enough, where only the passage and the answer are known.
        answers: Accepted answer strings.
    """

    question: str
    passages: tuple[Passage, ...]
    gold: tuple[Span, ...]
    any_of: tuple[Span, ...] = ()
    answers: tuple[str, ...] = ()

    @cached_property
    def holding(self) -> frozenset[int]:
        """Passages that hold evidence."""
        return frozenset(passage for passage, _, _ in (*self.gold, *self.any_of))

    def without_evidence(self) -> Example | None:
        """The same question over the other passages; None if none is left."""
        rest = tuple(p for i, p in enumerate(self.passages) if i not in self.holding)
        return Example(self.question, rest, ()) if rest else None

    def only(self, passages: Sequence[int]) -> Example:
        """The same question over some of its passages."""
        place = {old: new for new, old in enumerate(passages)}

        def moved(spans: Iterable[Span]) -> tuple[Span, ...]:
            return tuple((place[p], start, end) for p, start, end in spans if p in place)

        return replace(
            self,
            passages=tuple(self.passages[i] for i in passages),
            gold=moved(self.gold),
            any_of=moved(self.any_of),
        )


def load_examples(path: Path) -> list[Example]:
    """Read a set of either form.

    Raises:
        InputError: A line is not of that form.
    """
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path} is empty; it needs one record a line")
    examples = []
    for number, line in enumerate(text.rstrip("\n").split("\n"), start=1):
        try:
            examples.append(_example(json.loads(line)))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(
                f"{path}, line {number} is no calibration record: {error!r}; it needs question, "
                "passages with sentences, and evidence as [passage, sentence] pairs; or passages "
                "with text and is_gold"
            ) from error
    return examples


def read_text(path: Path) -> str:
    """The text of a file, gzipped if its name ends in .gz.

    Raises:
        InputError: It is not UTF-8, or not gzipped.
    """
    raw = path.read_bytes()
    try:
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise InputError(f"{path} is not UTF-8 text, plain or gzipped: {error}") from error


def digest(path: Path) -> str:
    """SHA-256 of a set, for the record."""
    return sha256(path.read_bytes()).hexdigest()


def join(sentences: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Sentences as one text, and the span of each without the blanks around it.

    Some data keeps the space between sentences with a sentence, some leaves it out.
    """
    blanks = any(s[:1].isspace() or s[-1:].isspace() for s in sentences)
    glue = "" if blanks or not any(" " in s for s in sentences) else " "
    text, spans = "", []
    for sentence in sentences:
        text += glue if text else ""
        start = len(text) + len(sentence) - len(sentence.lstrip())
        text += sentence
        spans.append((start, max(start, len(text) - (len(sentence) - len(sentence.rstrip())))))
    return text, spans


def gold_units(candidates: Candidates, gold: Iterable[Span]) -> NDArray[np.bool_]:
    """Which units are evidence: those of which a gold span covers more than half."""
    spans = list(gold)
    return np.array(
        [
            any(
                passage == owner and 2 * (min(end, u.end) - max(start, u.start)) > u.end - u.start
                for passage, start, end in spans
            )
            for owner, u in zip(candidates.owners, candidates.units, strict=True)
        ],
        dtype=np.bool_,
    )


def _example(row: dict[str, Any]) -> Example:
    passages, gold, any_of = [], [], []
    answers = tuple(map(str, row.get("answers", ())))
    for i, source in enumerate(row["passages"]):
        if "sentences" in source:
            text, spans = join(source["sentences"])
            gold += [(i, *spans[j]) for p, j in row["evidence"] if p == i]
        else:
            text = source["text"]
            any_of += [(i, *span) for span in _answering(text, answers) if source["is_gold"]]
        passages.append(Passage(text, str(i), source["title"]))
    if not gold and not any_of:
        raise ValueError("no evidence")
    return Example(row["question"], tuple(passages), tuple(gold), tuple(any_of), answers)


def _answering(text: str, answers: Sequence[str]) -> list[tuple[int, int]]:
    """Units of a gold passage that hold an answer string; all of them where none does."""
    units = [(unit.start, unit.end) for unit in segment(text)]
    folded = [answer.casefold() for answer in answers if answer]
    holding = [(s, e) for s, e in units if any(a in text[s:e].casefold() for a in folded)]
    return holding or units
