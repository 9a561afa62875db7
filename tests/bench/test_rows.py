from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.metrics import Outcome
from bench.rows import rows, write_rows

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Outcome(
    evidence_recall=0.5,
    chain_rate=0.0,
    answer_survival=None,
    answer_coverage=None,
    dangling_rate=None,
    kept_share=0.2,
    tokens_kept=100,
    nothing=0.5,
    answerable=1.0,
    ms_cold=30.0,
    ms_warm=3.0,
)


def test_means_medians_and_confidence_worked_by_hand() -> None:
    outcomes = {
        "a": replace(PLAIN, nothing=0.1, ms_cold=10.0),
        "b": replace(PLAIN, evidence_recall=1.0, nothing=0.3, ms_cold=20.0),
        "c": replace(PLAIN, evidence_recall=None, nothing=0.2, answerable=0.0, ms_cold=90.0),
    }
    (row,) = rows({("mini", "default", 0.3): outcomes})
    assert row["n"] == 3
    assert row["evidence_recall"] == 0.75  # of the two that have evidence
    assert row["answer_survival"] is row["ci"]["answer_survival"] is None
    assert row["ms_cold"] == 20.0
    # The one that cannot be answered is above one of the two that can.
    assert row["nothing_auc"] == 0.5
    assert row["ci"]["nothing_auc"][0] <= 0.5 <= row["ci"]["nothing_auc"][1]


def test_a_data_set_without_unanswerable_records_has_no_auc() -> None:
    (row,) = rows({("mini", "default", 0.3): {"a": PLAIN, "b": PLAIN}})
    assert row["nothing_auc"] is row["ci"]["nothing_auc"] is None


def test_each_system_is_compared_to_bm25_at_its_budget_over_the_records_of_both() -> None:
    better = replace(PLAIN, evidence_recall=1.0)
    found = rows(
        {
            ("mini", "lexical", 0.3): {"a": PLAIN, "b": PLAIN},
            ("mini", "default", 0.3): {"b": better, "c": PLAIN},
            ("mini", "default", 0.1): {"b": better},
            ("other", "lexical", 0.1): {"b": PLAIN},
        }
    )
    at = {(row["data"], row["system"], row["budget"]): row.get("minus_lexical") for row in found}
    gain = at["mini", "default", 0.3]
    assert gain is not None
    assert gain["evidence_recall"] == {"mean": 0.5, "ci": [0.5, 0.5], "n": 1}
    assert at["mini", "default", 0.1] is at["mini", "lexical", 0.3] is None


def test_the_gap_is_to_the_fullest_at_the_same_budget_and_the_whole_has_none() -> None:
    found = rows(
        {
            ("mini", "default", 0.3): {"a": PLAIN},
            ("mini", "truncate", 0.3): {"a": replace(PLAIN, kept_share=0.3)},
            ("mini", "full", 1.0): {"a": replace(PLAIN, kept_share=1.0)},
        }
    )
    assert [row["kept_gap"] for row in found] == [pytest.approx(0.1), 0.0, 0.0]


def test_rows_are_json_with_one_row_a_line(tmp_path: Path) -> None:
    found = rows({("mini", "default", 0.3): {"a": PLAIN}, ("mini", "lead", 0.3): {"a": PLAIN}})
    write_rows(tmp_path / "deep" / "rows.json", found)
    text = (tmp_path / "deep" / "rows.json").read_text()
    assert json.loads(text) == found
    assert len(text.splitlines()) == len(found) + 2
