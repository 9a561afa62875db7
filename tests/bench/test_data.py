from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.data import DISTRACTORS, load
from bench.quality import interval, survival

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return path


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


def test_the_evidence_form(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "question": "q",
        "answers": ["two"],
        "passages": [{"id": "a", "title": "A", "sentences": ["One.", " It is two."]}],
        "evidence": [[0, 1]],
    }
    (record,) = load(write(tmp_path / "e.jsonl.gz", [row]))
    ((passage, start, end),) = record.gold
    assert record.passages[passage].text[start:end] == "It is two."


def test_a_span_record_gets_nine_other_paragraphs_the_same_each_time(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl.gz", span_rows(15))
    first, again = load(path, 5), load(path, 5)
    assert first == again
    for record in first:
        assert len({p.text for p in record.passages}) == DISTRACTORS + 1
        ((passage, start, end),) = record.gold
        assert record.passages[passage].text[start:end] == record.answers[0]


def test_an_answer_survives_as_a_whole_word_only(tmp_path: Path) -> None:
    record = load(write(tmp_path / "s.jsonl.gz", span_rows(15)), 4)[3]
    assert survival(record, "in the end it took 3\n DAYS.") == 1.0
    assert survival(record, "it took 13 days") == 0.0


def test_yes_and_no_say_nothing_about_survival(tmp_path: Path) -> None:
    rows = span_rows(12)
    rows[0]["answers"] = ["yes"]
    assert survival(load(write(tmp_path / "s.jsonl.gz", rows), 1)[0], "yes") is None


def test_the_interval_holds_the_mean_and_narrows_with_more_records() -> None:
    low, high = interval([0.0, 1.0] * 10)
    assert low < 0.5 < high
    lower, higher = interval([0.0, 1.0] * 1000)
    assert higher - lower < (high - low) / 3
