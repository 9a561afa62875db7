from __future__ import annotations

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.qa import (
    citation_precision,
    citation_recall,
    exact_match,
    f1,
    subspan_match,
    tokens,
    uncited,
)


def test_case_punctuation_and_articles_do_not_count() -> None:
    assert tokens("The  U.S., an “old” Ally!") == ["us", "old", "ally"]
    assert exact_match("the Eiffel Tower.", ["Eiffel tower"]) == 1.0
    assert exact_match("Eiffel Tower in Paris", ["Eiffel tower"]) == 0.0


def test_f1_worked_by_hand() -> None:
    # 2 of 4 words are among the 3 accepted: precision 1/2, recall 2/3.
    assert f1("in the harbour of Oulu", ["Oulu harbour ice"]) == pytest.approx(4 / 7)
    assert f1("two two", ["two"]) == pytest.approx(2 / 3)  # a word counts as often as it stands
    assert f1("ice", ["snow", "Ice"]) == 1.0
    assert f1("", ["ice"]) == f1("ice", []) == 0.0


def test_without_spaces_a_character_is_a_token() -> None:
    assert f1("北京市", ["北京"]) == pytest.approx(4 / 5)
    assert exact_match("「北京」。", ["北京"]) == 1.0


def test_an_answer_stands_in_a_sentence_as_whole_words() -> None:
    assert subspan_match("It took the 3 days.", ["3 days"]) == 1.0
    assert subspan_match("It took 13 days.", ["3 days"]) == 0.0
    assert subspan_match("anything", ["the"]) == 0.0  # nothing is left of it


def test_citations_are_no_part_of_what_is_said() -> None:
    assert uncited("Paris [2], in [1, 3] France.") == "Paris , in France."
    assert exact_match(uncited("Paris [2]."), ["Paris"]) == 1.0
    assert uncited("an [aside]") == "an [aside]"


def test_citations_are_right_if_they_name_gold_passages() -> None:
    assert citation_precision([1, 4, None, 2], {1, 2, 3}) == 0.5
    assert citation_recall([1, 4, None, 2], {1, 2, 3}) == pytest.approx(2 / 3)
    assert citation_precision([], {1}) is None
    assert citation_recall([], {1}) == 0.0
    assert citation_precision([1], ()) is None
    assert citation_recall([1], ()) is None
