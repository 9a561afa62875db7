"""What one training step sees: a question, its gold passages, and some hard to tell from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from foveate.compressors.lexical import K1, bm25, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foveate.blocks.passage import Passage
    from foveate.compressors.examples import Example

SIZE_EXPONENT = 0.25
"""Of how many records a set has: 0 draws every set alike, 1 every record."""

NEIGHBOURS = 9


def with_neighbours(examples: Sequence[Example], count: int = NEIGHBOURS) -> list[Example]:
    """Give records that hold nothing but evidence the passages of others nearest by BM25.

    A neighbour that holds an answer string is no distractor, and left out.
    """
    if not any(len(e.holding) == len(e.passages) for e in examples):
        return list(examples)
    pool = list({p.text: p for e in examples for p in e.passages}.values())
    search = _Search([f"{p.title} {p.text}" for p in pool])
    return [
        _joined(e, [pool[i] for i in search.best(e.question, 3 * count)], count)
        if len(e.holding) == len(e.passages)
        else e
        for e in examples
    ]


def fitting(examples: Sequence[Example], tokens: int, count: Callable[[str], int]) -> list[Example]:
    """The records whose gold passages alone take no more than so many tokens."""

    def size(example: Example) -> int:
        return sum(count(example.passages[i].text) for i in example.holding)

    return [example for example in examples if size(example) <= tokens]


def cut(
    example: Example,
    rng: np.random.Generator,
    *,
    passages: int,
    tokens: int,
    count: Callable[[str], int],
) -> Example:
    """The gold passages and a few others, half the likest by BM25 and half drawn at random.

    Args:
        example: A whole record.
        rng: Draws.
        passages: Most passages, but for the gold ones.
        tokens: Most tokens of all passages, but for the gold ones'.
        count: Counts tokens.
    """
    gold, rest = sorted(example.holding), _rest(example, rng)
    taken, spent = list(gold), sum(count(example.passages[i].text) for i in gold)
    for i in rest:
        cost = count(example.passages[i].text)
        if len(taken) < passages and spent + cost <= tokens:
            taken.append(i)
            spent += cost
    return example.only(taken)


def schedule(sizes: Sequence[int], steps: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """(set, record) of each step; sets by a power of their size, records in shuffled rounds."""
    share = np.asarray(sizes, dtype=np.float64) ** SIZE_EXPONENT
    sets = rng.choice(len(sizes), size=steps, p=share / share.sum())
    rounds: list[list[int]] = [[] for _ in sizes]
    drawn = []
    for which in sets.tolist():
        if not rounds[which]:
            rounds[which] = rng.permutation(sizes[which]).tolist()
        drawn.append((which, rounds[which].pop()))
    return drawn


def _rest(example: Example, rng: np.random.Generator) -> list[int]:
    """Indices of the other passages: the likest, a random one, the next likest, ..."""
    others = [i for i in range(len(example.passages)) if i not in example.holding]
    documents = [Counter(terms(f"{p.title} {p.text}")) for p in example.passages]
    scores = bm25(dict.fromkeys(terms(example.question)), documents)[0]
    likest = sorted(others, key=lambda i: (-scores[i], i))
    drawn = rng.permutation(others).tolist()
    turns = [i for pair in zip(likest, drawn, strict=True) for i in pair]
    return list(dict.fromkeys(turns))


def _joined(example: Example, near: Sequence[Passage], count: int) -> Example:
    own = {p.text for p in example.passages}
    answers = [a.casefold() for a in example.answers]
    fit = [
        p for p in near if p.text not in own and not any(a in p.text.casefold() for a in answers)
    ]
    return replace(example, passages=(*example.passages, *fit[:count]))


class _Search:
    """BM25 over a pool of passages, by an inverted index."""

    def __init__(self, texts: Sequence[str]) -> None:
        documents = [Counter(terms(text)) for text in texts]
        self._size = len(documents)
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for i, document in enumerate(documents):
            for term, times in document.items():
                at, counts = self._postings.setdefault(term, ([], []))
                at.append(i)
                counts.append(times)

    def best(self, query: str, count: int) -> list[int]:
        scores = np.zeros(self._size)
        for term in dict.fromkeys(terms(query)):
            at, counts = self._postings.get(term, ([], []))
            idf = np.log1p((self._size - len(at) + 0.5) / (len(at) + 0.5))
            times = np.asarray(counts, dtype=np.float64)
            scores[at] += idf * times / (times + K1)
        best: list[int] = np.argsort(-scores, kind="stable")[:count].tolist()
        return best
