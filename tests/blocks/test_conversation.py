from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.conversation import MAX_REFERENT_CHARS, leans, standalone
from foveate.blocks.errors import EmptyQueryError, InputError


def chat(*turns: str) -> list[dict[str, Any]]:
    """Turns of user and assistant in exchange, the user first."""
    return [{"role": ("user", "assistant")[n % 2], "content": t} for n, t in enumerate(turns)]


def test_a_question_is_read_as_it_stands() -> None:
    assert standalone("  Who wrote it? ") == "  Who wrote it? "
    assert standalone(chat("Who wrote the report on storms?")) == "Who wrote the report on storms?"


def test_a_question_that_leans_brings_what_it_leans_on() -> None:
    talk = chat(
        "When was the bridge over the Tay opened?", "It was opened in 1887.", "Who built it?"
    )
    assert standalone(talk) == "When was the bridge over the Tay opened?\nTay\nWho built it?"


def test_names_of_the_exchange_join_a_question_that_stands_alone() -> None:
    talk = chat(
        "Which services can read my data?",
        "Both Watson Assistant v2 and the old IBM Cloudant can.",
        "Which permissions must an account have for reading?",
    )
    assert standalone(talk).split("\n") == [
        "Watson Assistant v2 IBM Cloudant",
        "Which permissions must an account have for reading?",
    ]


def test_a_capital_at_the_start_of_a_sentence_is_no_name() -> None:
    talk = chat(
        "How do rivers freeze?", "Slowly. Ice grows:\n- First at the banks\n1. Then in the middle"
    )
    query = standalone([*talk, *chat("Which rivers of the north freeze in the winter months?")])
    assert query.split("\n")[0] == "How do rivers freeze?"
    assert "First" not in query


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("埃菲尔铁塔在哪里?", "它有多高?"),
        ("หอไอเฟลอยู่ที่ไหน", "สูงเท่าไร"),
        ("أين يقع برج إيفل؟", "كم ارتفاعه؟"),
    ],
)
def test_a_short_question_in_any_script_brings_the_one_before(before: str, question: str) -> None:
    assert standalone(chat(before, "", question)) == f"{before}\n{question}"


def test_long_questions_of_unspaced_scripts_are_not_taken_for_short_ones() -> None:
    assert not leans("法国首都巴黎的埃菲尔铁塔建成于哪一年以及由谁设计")
    assert leans("多高")


def test_system_and_tool_turns_and_parts_that_are_no_text_are_left_out() -> None:
    question = {"type": "text", "text": "How many people live in the town on the Seine?"}
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    talk = [
        {"role": "system", "content": "Answer like Shakespeare of Stratford."},
        {"role": "tool", "content": "Result of Google Maps"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": [picture, question]},
    ]
    assert standalone(talk) == question["text"]


@pytest.mark.parametrize(
    "talk",
    [[], chat("  "), chat("Hello?", "Yes.", " \n"), [{"role": "assistant", "content": "Hello?"}]],
)
def test_a_conversation_without_a_question_is_refused(talk: Any) -> None:
    with pytest.raises(EmptyQueryError, match="without a question"):
        standalone(talk)


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (7, "int"),
        (b"Who?", "bytes"),
        ({"role": "user", "content": "Who?"}, "list of messages"),
        (["Who?"], "message 1"),
        ([*chat("Who?"), {"content": "What?"}], "message 2"),
        ([{"role": "user", "content": 7}], "message 1 is int"),
        ([{"role": "user", "content": ["Who?"]}], "message 1 holds a part that is str"),
    ],
)
def test_what_is_no_conversation_is_refused_by_its_place(talk: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        standalone(talk)


@given(st.lists(st.text(), min_size=1))
def test_the_question_ends_the_query_and_what_joins_it_is_bounded(turns: list[str]) -> None:
    talk = [*chat(*turns), {"role": "user", "content": "And the tunnel?"}]
    query = standalone(talk)
    assert query.endswith("And the tunnel?")
    assert len(query) <= 2 * MAX_REFERENT_CHARS + len("\n\nAnd the tunnel?")


def test_long_turns_give_their_latest_names_and_the_end_of_their_question() -> None:
    names = " and ".join(f"Town{n}" for n in range(5_000))
    query = standalone(
        chat("word " * 5_000 + "what of the mill?", f"we know {names}", "Is it old?")
    )
    before, found, _ = query.split("\n")
    assert before.endswith("what of the mill?")
    assert before.startswith("word ")
    assert len(found) <= MAX_REFERENT_CHARS
