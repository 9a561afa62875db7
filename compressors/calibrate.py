"""Choosing the heads of a model and the weights of its scores, on records whose evidence is known.

Heads: each head alone ranks a record's units by its attention, all heads of all layers in one
reading (the detection of QRHead, https://arxiv.org/abs/2506.09944, section 3.1, with units in place
of documents). Those nearly as good as the best are kept; a greedy search for heads that complement
each other did better on the set itself and worse on any other.

Weights: logistic regression on the units of all records, each record once as it is and once
without the passages that hold its evidence, so that the score learns what it looks like when
nothing is relevant.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage

from .features import ATTENTION, FUSED, Features, head_ranking
from .logistic import fit
from .probes import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Head, Reading

MAX_HEADS = 8
AUC_TOLERANCE = 0.03
"""How far below the best head another may be to be kept."""

SCORERS = {"retrieval-heads": ATTENTION, "fused": FUSED}


@dataclass(frozen=True, slots=True)
class Example:
    """A question, its passages, and its evidence: (passage, start, end) in characters."""

    question: str
    passages: tuple[Passage, ...]
    gold: tuple[tuple[int, int, int], ...]

    def without_evidence(self) -> Example | None:
        """The same question over the other passages; None if none is left."""
        holding = {passage for passage, _, _ in self.gold}
        rest = tuple(p for i, p in enumerate(self.passages) if i not in holding)
        return Example(self.question, rest, ()) if rest else None


def shipped_set() -> Path:
    """The calibration set that comes with Foveate."""
    return Path(str(files("foveate.compressors.probes") / "calibration.jsonl"))


def load_examples(path: Path) -> list[Example]:
    """Read a set: JSON lines, gzipped or not, of question, passages as sentences, evidence.

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
                "passages with sentences, and evidence as [passage, sentence] pairs"
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


def calibrate(
    proxy: Proxy,
    examples: Sequence[Example],
    *,
    more: Sequence[Example] = (),
    source: str,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Probe:
    """Choose heads and fit weights for a model.

    Args:
        proxy: The model; its own heads do not matter.
        examples: Records with known evidence.
        more: Further records, for the weights alone.
        source: Name of the sets, for the record.
        progress: Told the stage and how far it is.
    """
    config = proxy.model.config
    every = [
        (layer, head)
        for layer in range(config.num_hidden_layers)
        for head in range(config.num_attention_heads)
    ]
    wide = proxy.with_heads(every)
    pairs = list(_read_all(wide, examples, "rank heads", progress))
    heads = choose_heads(pairs, wide.heads)
    narrow = proxy.with_heads(heads)
    features, labels = _features(narrow, [*examples, *more], progress)
    return Probe(
        model=proxy.name,
        fingerprint=proxy.fingerprint,
        heads=heads,
        scorers={
            name: fit(columns, features[:, [FUSED.index(c) for c in columns]], labels)
            for name, columns in SCORERS.items()
        },
        provenance={
            "source": source,
            "records_for_heads": len(examples),
            "records_for_weights": len(examples) + len(more),
            "auc_of_heads": round(_auc_of(pairs, [wide.heads.index(h) for h in heads]), 4),
        },
    )


def choose_heads(
    pairs: Sequence[tuple[Reading, NDArray[np.bool_]]], heads: Sequence[Head]
) -> tuple[Head, ...]:
    """The heads that rank evidence best, best first."""
    single = np.array([_auc_of(pairs, [i]) for i in range(len(heads))])
    best = np.argsort(-single, kind="stable")[:MAX_HEADS]
    return tuple(heads[i] for i in best if single[i] >= single.max() - AUC_TOLERANCE)


def auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Chance that a positive outranks a negative; ties count half."""
    wins = (scores[positive][:, None] > scores[~positive]).mean()
    ties = (scores[positive][:, None] == scores[~positive]).mean()
    return float(wins + ties / 2)


def gold_units(candidates: Candidates, gold: Iterable[tuple[int, int, int]]) -> NDArray[np.bool_]:
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


def digest(path: Path) -> str:
    """SHA-256 of a calibration set, for the record."""
    return sha256(path.read_bytes()).hexdigest()


def _example(row: dict[str, Any]) -> Example:
    passages, gold = [], []
    for i, source in enumerate(row["passages"]):
        text, spans = join(source["sentences"])
        passages.append(Passage(text, str(i), source["title"]))
        gold += [(i, *spans[j]) for p, j in row["evidence"] if p == i]
    if not gold:
        raise ValueError("no evidence")
    return Example(row["question"], tuple(passages), tuple(gold))


def _read_all(
    proxy: Proxy,
    examples: Sequence[Example],
    stage: str,
    progress: Callable[[str, int, int | None], None] | None,
) -> Iterator[tuple[Reading, NDArray[np.bool_]]]:
    for n, example in enumerate(examples):
        if progress is not None:
            progress(stage, n, len(examples))
        candidates = Candidates(example.question, example.passages, proxy=proxy)
        positive = gold_units(candidates, example.gold)
        if positive.any() and not positive.all():
            yield candidates.reading, positive
        proxy.store.clear()


def _features(
    proxy: Proxy,
    examples: Sequence[Example],
    progress: Callable[[str, int, int | None], None] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, labels = [], []
    for n, example in enumerate(examples):
        if progress is not None:
            progress("fit weights", n, len(examples))
        for variant in filter(None, (example, example.without_evidence())):
            candidates = Candidates(variant.question, variant.passages, proxy=proxy)
            rows.append(Features(candidates).matrix(FUSED))
            labels.append(gold_units(candidates, variant.gold))
    return np.concatenate(rows), np.concatenate(labels).astype(np.float64)


def _auc_of(pairs: Sequence[tuple[Reading, NDArray[np.bool_]]], heads: Sequence[int]) -> float:
    """Mean over records of the AUC of these heads' joint ranking."""
    return float(
        np.mean(
            [auc(head_ranking(reading.mass[list(heads)]), positive) for reading, positive in pairs]
        )
    )
