"""Features and labels of many records, as one table: read once, kept on disk, taken up again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import Candidates
from foveate.compressors.examples import gold_units
from foveate.compressors.features import TWO_HOPS, Features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from foveate.blocks.progress import Progress
    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Reading
    from foveate.compressors.examples import Example

VERSION = 1
"""Of what the features mean; another one is another cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Units of many records, one a row.

    Attributes:
        names: Name of each column.
        features: (rows, columns).
        labels: 1 for evidence, 0 for none, (rows,).
        records: Record of each row, counted over all variants: (rows,).
        questions: Question of each row; a record and its variant without evidence share one.
    """

    names: tuple[str, ...]
    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    records: NDArray[np.int64]
    questions: NDArray[np.int64]

    def columns(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Some of the columns, in the order asked for."""
        return self.features[:, [self.names.index(name) for name in names]]


def collect(
    proxy: Proxy,
    examples: Sequence[Example],
    *,
    names: tuple[str, ...] = TWO_HOPS,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Table:
    """Read every record, as it is and without its evidence, and note what is known of each unit.

    Args:
        proxy: Reads them.
        examples: Records with known evidence.
        names: The features.
        cache: Folder in which the features of each record are kept, so that a run that was
            stopped goes on where it was.
        progress: Told the stage and how far it is.
    """
    features: list[NDArray[np.float64]] = []
    labels: list[NDArray[np.float64]] = []
    records: list[NDArray[np.int64]] = []
    questions: list[NDArray[np.int64]] = []
    for question, example in enumerate(examples):
        if progress is not None:
            progress("read", question, len(examples))
        for variant in filter(None, (example, example.without_evidence())):
            matrix, known = _record(proxy, variant, names, cache)
            sure = known >= 0
            features.append(matrix[sure])
            labels.append(known[sure])
            records.append(np.full(sure.sum(), len(records)))
            questions.append(np.full(sure.sum(), question))
        proxy.store.clear()
    return Table(
        names,
        np.concatenate(features),
        np.concatenate(labels),
        np.concatenate(records),
        np.concatenate(questions),
    )


def readings(
    proxy: Proxy, examples: Sequence[Example], stage: str, progress: Progress | None
) -> Iterator[tuple[Example, Reading, NDArray[np.bool_]]]:
    """The reading of each record of whose units some are evidence and some are not; and which."""
    for n, example in enumerate(examples):
        if progress is not None:
            progress(stage, n, len(examples))
        candidates = Candidates(example.question, example.passages, proxy=proxy)
        positive = gold_units(candidates, example.gold)
        if positive.any() and not positive.all():
            yield example, candidates.reading, positive
        proxy.store.clear()


def _record(
    proxy: Proxy, example: Example, names: tuple[str, ...], cache: Path | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features (units, names) and labels (units,): 1, 0, or -1 where nobody knows."""
    path = None if cache is None else cache / f"{_key(proxy, example, names)}.npz"
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as kept:
            return kept["features"], kept["labels"]
    candidates = Candidates(example.question, example.passages, proxy=proxy)
    matrix, labels = Features(candidates).matrix(names), _labels(candidates, example)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp.npz")
        np.savez(draft, features=matrix, labels=labels)
        draft.replace(path)
    return matrix, labels


def _labels(candidates: Candidates, example: Example) -> NDArray[np.float64]:
    gold = gold_units(candidates, example.gold)
    answering = gold_units(candidates, example.any_of) & ~gold
    if answering.sum() == 1:  # where several hold the answer string, which one tells it is unknown
        gold, answering = gold | answering, np.zeros_like(gold)
    unsure = np.isin(candidates.owners, [p for p, _, _ in example.any_of]) & ~gold
    return np.where(gold, 1.0, np.where(unsure | answering, -1.0, 0.0))


def _key(proxy: Proxy, example: Example, names: tuple[str, ...]) -> str:
    digest = blake2b(digest_size=16)
    parts: Iterator[object] = iter(
        (VERSION, proxy.fingerprint, proxy.heads, names, example.question, example.gold)
    )
    digest.update(repr((*parts, example.any_of)).encode("utf-8", "surrogatepass"))
    for passage in example.passages:
        digest.update(f"{passage.title}\0{passage.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
