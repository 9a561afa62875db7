from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.compressors.answer_prefix import FALLBACK, answer_prefix


@pytest.mark.parametrize(
    ("question", "prefix"),
    [
        ("Who directed Jaws?", "Jaws was directed by"),
        ("Who was the film Jaws directed by?", "The film Jaws was directed by"),
        ("Who wrote the letter?", "The letter was written by"),
        ("Who is the mother of Ann Lee?", "The mother of Ann Lee is"),
        ("Who was born first, Ann or Bob?", "The person who was born first is"),
        ("Who lives in the tower?", "The person who lives in the tower is"),
        ("When was Ann Lee born?", "Ann Lee was born in"),
        ("Where is Paris?", "Paris is in"),
        ("Where was the battle of Teld fought?", "The battle of Teld was fought in"),
        ("When did the harbour freeze?", "The date is"),
        ("Where do the ships wait?", "The place is"),
        ("What is the capital of Velmar?", "The capital of Velmar is"),
        ("Which film was released first, A or B?", "The film is"),
        ("Which film whose director died came out?", "The film is"),
        ("Which 2009 animated film is from Japan?", "The 2009 animated film is"),
        ("In what year did the mayor die?", "The year is"),
        ("How many barrels did it carry?", "The number of barrels is"),
        ("Why did the mast break?", "The reason is"),
    ],
)
def test_a_question_becomes_the_start_of_its_answer(question: str, prefix: str) -> None:
    assert answer_prefix(question) == prefix


@pytest.mark.parametrize(
    "question",
    [
        "Is Ann older than Bob?",
        "Did the harbour freeze?",
        "The harbour froze in 1947.",
        "How far is the moon?",
        "港口什么时候结冰？",
        "Wann fror der Hafen zu?",
        "who",
        "What?",
        "Who directed " + "the film about the sea " * 20,
    ],
)
def test_what_no_rule_knows_gets_the_fixed_start(question: str) -> None:
    assert answer_prefix(question) == FALLBACK


@given(st.text(), st.sampled_from(["who ", "What is ", "when was ", "which ", "how many ", ""]))
def test_any_text_gets_a_start_of_one_line(rest: str, word: str) -> None:
    prefix = answer_prefix(word + rest)
    assert prefix.strip()
    assert "\n" not in prefix
