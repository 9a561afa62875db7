from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.compressors import Scorer
from foveate.compressors.lexical import Lexical
from foveate.compressors.retrieval_heads import RetrievalHeads
from foveate.compressors.sliding import Sliding

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

QUERY = "What did the ship Velmar carry?"
NEEDLE = "The ship Velmar carried amber."
FILLER = [
    Passage(" ".join(f"Line {n} of log {i} is about fog." for n in range(9)), title=f"Log {i}")
    for i in range(6)
]


class Counting(Lexical):
    """BM25 that notes how much it was shown at a time."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def score(self, candidates: Candidates) -> Scores:
        self.seen.append(len(candidates.units))
        return super().score(candidates)


def with_needle(at: int) -> list[Passage]:
    held = FILLER[at]
    return [
        *FILLER[:at],
        Passage(f"{held.text} {NEEDLE} Then came rain.", title=held.title),
        *FILLER[at + 1 :],
    ]


@pytest.mark.parametrize("at", range(6))
def test_what_answers_is_carried_to_the_end_from_any_window(at: int) -> None:
    candidates = Candidates(QUERY, with_needle(at))
    scores = Sliding(window=60, carried=2, inner=Lexical()).score(candidates)
    assert candidates.texts[int(scores.units.argmax())].strip() == NEEDLE
    assert int(scores.passages.argmax()) == at


def test_no_more_than_a_window_and_what_is_carried_is_read_at_a_time() -> None:
    inner = Counting()
    Sliding(window=60, carried=3, inner=inner).score(Candidates(QUERY, FILLER * 5))
    assert len(inner.seen) > 20
    assert max(inner.seen) <= 60 // 8 + 3 + 1


def test_what_fits_into_one_window_is_scored_as_without_windows(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, [*FILLER[:2], Passage("")], proxy=tiny_proxy)
    scores = Sliding(window=10_000).score(candidates)
    plain = RetrievalHeads().score(Candidates(QUERY, FILLER[:2], proxy=tiny_proxy))
    np.testing.assert_allclose(scores.units, plain.units, atol=1e-6)
    assert scores.passages[2] == 0


def test_every_unit_has_a_score_and_what_was_carried_leads(tiny_proxy: Proxy) -> None:
    texts = ["第一句话说雾。第二句话说船。" * 6, "", "x", *(p.text for p in FILLER[:2])]
    candidates = Candidates("船在哪里？", [Passage(t) for t in texts], proxy=tiny_proxy)
    scores = Sliding(window=40, carried=4).score(candidates)
    assert scores.units.shape == (len(candidates.units),)
    assert ((scores.units >= 0) & (scores.units <= 1)).all()


def test_no_text_gives_no_scores(tiny_proxy: Proxy) -> None:
    scores = Sliding().score(Candidates(QUERY, [Passage("")], proxy=tiny_proxy))
    assert len(scores.units) == 0
    assert scores.nothing == 1.0


@pytest.mark.parametrize("numbers", [{"window": 0}, {"carried": 0}])
def test_a_window_of_nothing_is_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(InputError, match="1 or more"):
        Sliding(**numbers)


def test_any_scorer_reads_the_windows() -> None:
    class Longest(Scorer):
        name = "longest"
        reads = False

        def score(self, candidates: Candidates) -> Scores:
            lengths = np.array([len(text) for text in candidates.texts]) / 1000
            return Scores(lengths, np.ones(len(candidates.passages)), 0.0)

    candidates = Candidates(QUERY, with_needle(3))
    scores = Sliding(window=60, inner=Longest()).score(candidates)
    assert len(candidates.texts[int(scores.units.argmax())]) == max(map(len, candidates.texts))
