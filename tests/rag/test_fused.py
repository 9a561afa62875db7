from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.errors import EmptyQueryError, InputError
from foveate.blocks.passage import Passage
from foveate.rag.retrievers import FusedRetriever, Hit, Retriever, fuse

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=4)


class Fixed:
    """Answers every query with the same passages."""

    def __init__(self, *ids: str) -> None:
        self.hits = hits(ids)
        self.asked: list[tuple[str, int]] = []

    def retrieve(self, query: str, k: int = 10) -> list[Hit]:
        self.asked.append((query, k))
        return self.hits[:k]


def hits(ids: object) -> list[Hit]:
    return [Hit(Passage(f"text {n}", n), 1.0, rank) for rank, n in enumerate(ids, start=1)]  # type: ignore[call-overload]


def names(found: list[Hit]) -> list[str]:
    return [hit.passage.id for hit in found]


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    found = FusedRetriever([Fixed("a", "b", "c"), Fixed("c", "a")]).retrieve("q")
    assert names(found) == ["a", "c", "b"]
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert [hit.score for hit in found] == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62])


def test_a_passage_that_all_find_beats_one_that_a_single_retriever_puts_first() -> None:
    found = FusedRetriever([Fixed("x", "m"), Fixed("y", "m"), Fixed("z", "m")]).retrieve("q", 1)
    assert names(found) == ["m"]


def test_retrievers_are_asked_for_more_than_the_hits_wanted() -> None:
    deep = Fixed("a", "b")
    FusedRetriever([deep], depth=50).retrieve(" the query ", 3)
    FusedRetriever([deep], depth=50).retrieve("q", 200)
    assert deep.asked == [(" the query ", 50), ("q", 200)]


def test_passages_without_ids_are_told_apart_by_their_texts() -> None:
    answers = [[Hit(Passage("one"), 1.0, 1), Hit(Passage("two"), 0.5, 2)], hits("")]
    assert [passage.text for passage, _ in fuse(answers)] == ["one", "two"]


def test_anything_that_retrieves_is_a_retriever() -> None:
    assert isinstance(Fixed(), Retriever)
    assert isinstance(FusedRetriever([FusedRetriever([Fixed()])]), Retriever)


def test_requests_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError):
        FusedRetriever([])
    with pytest.raises(InputError):
        FusedRetriever([Fixed()], depth=0)
    retriever = FusedRetriever([Fixed("a")])
    with pytest.raises(EmptyQueryError):
        retriever.retrieve(" \n\u200b")
    for k in (0, -1, True, 2.5):
        with pytest.raises(InputError, match="k is"):
            retriever.retrieve("q", k)  # type: ignore[arg-type]


@given(RANKINGS, st.integers(0, 100))
def test_fusing_keeps_every_passage_once_best_first(rankings: list[list[str]], k: int) -> None:
    found = fuse([hits(ranking) for ranking in rankings], rrf_k=k)
    assert sorted(passage.id for passage, _ in found) == sorted(set().union(*rankings))
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_fusing_one_ranking_changes_nothing(ranking: list[str]) -> None:
    assert [passage.id for passage, _ in fuse([hits(ranking)])] == ranking
