from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.data import DISTRACTORS, load
from foveate.blocks.conversation import standalone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, list[dict[str, Any]]], Path]


def span_rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": str(n),
            "question": f"q{n}",
            "answers": [f"{n} days"],
            "passages": [{"id": f"p{n}", "title": "T", "text": f"It took {n} days."}],
            "answer_spans": [{"passage": 0, "start": 8, "end": 8 + len(f"{n} days")}],
        }
        for n in range(count)
    ]


def labelled(text: str, label: str) -> dict[str, Any]:
    gold = label != "NOT_ENOUGH_INFO"
    return {"id": text, "title": "T", "text": text, "is_gold": gold, "label": label}


def talk(name: str, texts: list[str], answerable: bool = True) -> dict[str, Any]:
    return {
        "id": f"{name}<::>2",
        "question": "And what does it cost?",
        "conversation": [
            {"speaker": "user", "text": "Tell me of Watson Assistant."},
            {"speaker": "agent", "text": "It is a product of IBM."},
            {"speaker": "user", "text": "And what does it cost?"},
        ],
        "answers": ["Nothing at first."],
        "passages": [{"id": t, "title": "", "text": t, "is_gold": answerable} for t in texts],
        "collection": "cloud",
    }


def test_the_evidence_form(write: Write, evidence_rows: list[dict[str, Any]]) -> None:
    first, *_ = load(write("e", evidence_rows))
    ((passage, start, end),) = first.gold
    assert first.passages[passage].text[start:end] == "Harbour 0 froze in 1947 week 0."
    assert first.gold_passages == {0}
    assert first.answerable is None


def test_skip_and_limit_choose_other_records(
    write: Write, evidence_rows: list[dict[str, Any]]
) -> None:
    path = write("e", evidence_rows)
    assert [r.id for r in load(path, 1)] == ["r0"]
    assert [r.id for r in load(path, 1, skip=1)] == ["r1"]
    assert [r.id for r in load(path, skip=1)] == ["r1", "r2"]


def test_a_span_record_gets_nine_other_paragraphs_the_same_each_time(write: Write) -> None:
    path = write("s", span_rows(15))
    first, again = load(path, 5), load(path, 5)
    assert first == again
    assert first != load(path, 5, seed=1)
    for record in first:
        assert len({p.text for p in record.passages}) == DISTRACTORS + 1
        ((passage, start, end),) = record.gold
        assert record.passages[passage].text[start:end] == record.answers[0]


def test_a_passage_with_a_label_of_its_own_is_a_sentence_of_evidence(write: Write) -> None:
    row = {
        "id": "1",
        "question": "Ice melts.",
        "answers": ["SUPPORTS"],
        "passages": [labelled("Ice is cold.", "NOT_ENOUGH_INFO"), labelled("It melts.", "REFUTES")],
    }
    empty = {**row, "id": "2", "passages": row["passages"][:1]}  # type: ignore[index]
    record, unanswerable = load(write("c", [row, empty]))
    assert record.gold == ((1, 0, len("It melts.")),)
    assert (record.answerable, unanswerable.answerable) == (True, False)


def test_a_conversation_is_asked_whole_and_gets_passages_of_others(write: Write) -> None:
    rows = [
        talk("a", ["own text"]),
        talk("b", [f"text {n}" for n in range(20)]),
        talk("c", [], answerable=False),
        {**talk("d", ["of another collection"]), "collection": "health"},
    ]
    first, _, unanswerable, _ = load(write("t", rows))
    (gold,) = first.gold_passages
    assert first.passages[gold].text == "own text"
    assert len(first.passages) == len(unanswerable.passages) == DISTRACTORS + 1
    assert first.answerable
    assert unanswerable.answerable is False
    assert "of another collection" not in {p.text for p in unanswerable.passages}
    # The question is not asked twice, and what it refers to is in it.
    assert standalone(first.query).count("And what does it cost?") == 1
    assert "Watson Assistant" in standalone(first.query)
