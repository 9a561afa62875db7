from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.compressors.lexical import terms
from foveate.compressors.shortening import LEAST_WORDS, MAX_SHARE, shorter

SENTENCE = "The old mill was built by the river in 1872 and it was not rebuilt after a fire. "


def left(text: str, query: tuple[str, ...] = (), worth: float = 1.0) -> str:
    return without(text, shorter(text, np.full(len(text), worth), query))


def without(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def test_function_words_go_first_and_the_rest_reads_on() -> None:
    assert left(
        "The old mill was built by the river with bricks from an old quarry by the sea. "
    ) == ("The old mill built river bricks an old quarry by the sea. ")


def test_of_other_words_those_that_were_looked_at_least_go_first() -> None:
    text = "Amber merchants brought heavy barrels towards distant harbours yesterday morning. "
    worth = np.ones(len(text))
    start = text.index("heavy")
    worth[start : start + 5] = 0.1
    assert "heavy" not in without(text, shorter(text, worth, ()))


@pytest.mark.parametrize(
    "kept",
    [
        "1872",
        "not rebuilt",
        "Anna Berg",
        "AB-12",
        "x_max",
        "a.b@mail.org",
        "https://a.b/c?d=e",
        "\u201cas it is in all of them\u201d",
        "`if it is of the kind`",
        "12 March 1901",
        "never of the",
        "doesn't the",
        "$5",
        "nine",
        "unless",
    ],
)
def test_what_carries_a_fact_stays(kept: str) -> None:
    text = f"It is said that of the many of them {kept} is the one that was in the end of it all. "
    assert kept in left(text, worth=0.0)


def test_words_of_the_question_stay() -> None:
    text = "Somebody said that the barrels over there had been painted in the morning of that day. "
    assert "barrels" in left(text, tuple(terms("Who painted barrels?")), worth=0.0)


def test_short_sentences_and_scripts_without_blanks_stay_whole() -> None:
    for text in (
        "It was by the sea.",
        "这座磨坊建于一八七二年，就在河边，后来再也没有重建过。",
        "",
    ):
        assert shorter(text, np.ones(len(text)), ()) == ()


@given(
    st.lists(st.text(min_size=1, max_size=8), max_size=30),
    st.randoms(use_true_random=False),
)
def test_what_is_left_out_are_whole_words_within_the_text(words: list[str], random: object) -> None:
    text = " ".join(words)
    worth = np.array([random.random() for _ in text])  # type: ignore[attr-defined]
    spans = shorter(text, worth, ())
    end = 0
    for start, stop in spans:
        assert end <= start < stop <= len(text)
        end = stop
    rest = without(text, spans).split()
    source = iter(text.split())
    assert all(word in source for word in rest)  # a subsequence of whole words
    assert len(text.split()) - len(rest) <= MAX_SHARE * len(text.split())
    assert len(text.split()) >= LEAST_WORDS or not spans
