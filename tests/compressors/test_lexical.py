from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage
from foveate.compressors.lexical import K1, B, Lexical, bm25, terms

WORDS = st.sampled_from(["sea", "ship", "storm", "port", "log", "keeper", "night"])


def slow_bm25(query: set[str], documents: list[list[str]], index: int) -> float:
    """The textbook formula, one term at a time."""
    average = sum(map(len, documents)) / len(documents)
    score = 0.0
    for term in query:
        df = sum(term in document for document in documents)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        tf = documents[index].count(term)
        score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(documents[index]) / average))
    return score


@given(st.sets(WORDS, min_size=1), st.lists(st.lists(WORDS, min_size=1), min_size=1, max_size=6))
def test_it_is_the_textbook_formula(query: set[str], documents: list[list[str]]) -> None:
    scores, best = bm25(query, [Counter(document) for document in documents])
    expected = [slow_bm25(query, documents, i) for i in range(len(documents))]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert (scores <= best + 1e-9).all()


@pytest.mark.parametrize(
    ("question", "relevant", "other"),
    [
        (
            "When did the harbour freeze?",
            "The harbour froze; freezing lasted weeks. It did freeze.",
            "Ships.",
        ),
        ("港口什么时候结冰？", "一九四七年冬天，港口结冰了。", "船只等待。"),
        ("ท่าเรือแข็งเมื่อไร", "ท่าเรือกลายเป็นน้ำแข็งในฤดูหนาว", "เรือรอ"),
        ("متى تجمد الميناء؟", "تجمد الميناء في الشتاء.", "انتظرت السفن."),
        ("total of 1452.4", "Fixed price came to $1,452.4 in all.", "It came to 14524."),
        ("Which ports close?", "The port closes in winter.", "Storms came."),
    ],
)
def test_the_unit_that_answers_ranks_first_in_any_script(
    question: str, relevant: str, other: str
) -> None:
    candidates = Candidates(question, [Passage(other), Passage(relevant), Passage("x")])
    scores = Lexical().score(candidates)
    assert scores.passages.argmax() == 1
    assert scores.passages[1] > scores.passages[0]


def test_a_title_speaks_for_its_units() -> None:
    passages = [
        Passage("It opened in 1868.", title="Velmar Theatre"),
        Passage("It opened in 1868."),
    ]
    scores = Lexical().score(Candidates("When did Velmar open?", passages))
    assert scores.units[0] > scores.units[1]


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(), min_size=1, max_size=4))
def test_scores_are_shares_whatever_the_text(query: str, texts: list[str]) -> None:
    scores = Lexical().score(Candidates(query, [Passage(text) for text in texts]))
    for values in (scores.units, scores.passages, np.array([scores.nothing])):
        assert ((values >= 0) & (values <= 1 + 1e-9)).all()


def test_a_query_that_nothing_answers_says_so() -> None:
    scores = Lexical().score(Candidates("zebra", [Passage("The harbour froze.")]))
    assert scores.nothing == 1.0


def test_terms_fold_case_width_and_plural() -> None:
    assert terms("Ships SHIP's Ｓｈｉｐ") == ("ship", "ship", "ship")
    assert terms("1,452.4 and 1452.4")[::2] == ("1452.4", "1452.4")
    assert terms("bus glass analysis") == ("bus", "glass", "analysis")


def test_it_never_wakes_the_proxy() -> None:
    assert not Lexical.reads


def test_vowel_signs_belong_to_their_word() -> None:
    assert terms("हिन्दी भाषा") == ("हिन्दी", "भाषा")
    assert terms("தமிழ் மொழி") == ("தமிழ்", "மொழி")
