from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench import report
from bench.tables import measured_table, quality_table, remarks

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG"


def row(system: str, budget: float, evidence: float, **more: Any) -> dict[str, Any]:
    measured = {
        "evidence_recall": evidence,
        "chain_rate": evidence / 2,
        "answer_survival": None,
        "answer_coverage": None,
        "dangling_rate": None,
        "kept_share": 0.29,
        "nothing_auc": None,
    }
    ci = {m: None if v is None else [v - 0.1, v + 0.1] for m, v in measured.items()}
    about = {"system": system, "data": "mini", "budget": budget, "n": 7}
    rest = {"tokens_kept": 1000 * budget if budget <= 1 else budget, "ms_cold": 900.0}
    return {**about, **measured, **rest, "ms_warm": 30.0, "ci": ci, "kept_gap": 0.0, **more}


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    gain = {"evidence_recall": {"mean": 0.25, "ci": [0.1, 0.4], "n": 7}}
    return [
        row("lexical", 0.3, 0.5),
        row("default", 0.3, 0.75, minus_lexical=gain, nothing_auc=0.8),
        row("truncate", 0.3, 0.2, kept_gap=0.07),
        row("lexical", 256, 0.4),
        row("default", 256, 0.6),
        row("full", 1.0, 1.0),
    ]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_one_table_with_systems_down_and_budgets_across(rows: list[dict[str, Any]]) -> None:
    table = [cells(line) for line in quality_table(rows)]
    assert table[0] == ["measure", "system", "0.3", "256 tokens"]
    by_name = {(line[0], line[1]): line[2:] for line in table[2:]}
    assert by_name["evidence", "default"] == ["**0.750 (0.65-0.85)**", "**0.600 (0.50-0.70)**"]
    assert by_name["evidence", "lexical"] == ["0.500 (0.40-0.60)", "0.400 (0.30-0.50)"]
    assert by_name["evidence", "default - lexical"] == ["+0.250 (+0.10 to +0.40)", ""]
    assert by_name["evidence", "truncate"] == ["0.200 (0.10-0.30)°", ""]
    assert by_name["kept", "truncate"] == ["0.290°", ""]
    assert not any(name == "full" or measure == "answer" for measure, name in by_name)


def test_a_chain_of_one_link_is_shown_once(rows: list[dict[str, Any]]) -> None:
    single = [{**r, "chain_rate": r["evidence_recall"]} for r in rows]
    assert not any("| chain |" in line for line in quality_table(single))
    assert any("| chain |" in line for line in quality_table(rows))


def test_the_whole_confidence_and_time_are_told_below(rows: list[dict[str, Any]]) -> None:
    whole, confidence, time = remarks(rows)
    assert whole == "Everything kept (1,000 tokens on average): evidence 1.000, chain 0.500."
    assert "default 0.800" in confidence
    assert "default 900 / 30" in time


def test_rankings_are_shown_by_slot_with_their_intervals() -> None:
    ranked = {
        "system": "default",
        "data": "mini",
        "slot": "first",
        "n": 4,
        "recall_at_1": 0.5,
        "ndcg_at_10": 0.75,
        "ms": 12.4,
        "ci": {"recall_at_1": [0.0, 1.0], "ndcg_at_10": [0.5, 1.0]},
        "minus_lexical": {"ndcg_at_10": {"mean": 0.1, "ci": [-0.2, 1], "n": 4}},
    }
    given = {**ranked, "system": "given", "slot": 0, "minus_lexical": None}
    table = [cells(line) for line in measured_table([ranked, given], "ndcg_at_10")]
    values = ["0.500 (0.00-1.00)", "0.750 (0.50-1.00)", "12"]
    assert table[0][:6] == ["system", "slot", "n", "recall at 1", "ndcg at 10", "ms"]
    assert table[0][6:] == ["ndcg at 10 over given"]
    assert table[2] == ["default", "first", "4", *values, "+0.100 (-0.20 to +1.00)"]
    assert table[3] == ["given", "0", "4", *values, "-"]


def test_refusals_are_shown_where_there_were_any() -> None:
    answered = {"system": "full", "data": "mini", "budget": 1.0, "n": 3, "refused": 0, "f1": 0.5}
    whole = measured_table([answered], "f1")
    short = measured_table([{**answered, "refused": 2}], "f1")
    assert cells(whole[0]) == ["system", "budget", "n", "f1", "f1 over lexical"]
    assert cells(short[0])[3] == "refused"
    assert cells(short[2])[3] == "2"


def test_the_page_and_its_pictures_come_from_the_rows_alone(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    results, page = tmp_path / "results", tmp_path / "docs" / "benchmarks.md"
    results.mkdir()
    page.parent.mkdir()
    (results / "quality.json").write_text(json.dumps(rows))
    (results / "notes.md").write_text("Taken on records 100 to 107.")
    arguments = ["--results", str(results), "--page", str(page)]
    report.main(arguments)
    text = page.read_text()
    assert "Taken on records 100 to 107." in text
    assert "7 records." in text
    linked = {page.parent / path for path in re.findall(r"\((benchmarks/[^)]*)\)", text)}
    assert {path.suffix for path in linked} == {".svg", ".png"}
    (vector,) = (path for path in linked if path.suffix == ".svg")
    (raster,) = linked - {vector}
    assert raster.read_bytes().startswith(PNG)
    drawn = vector.read_text()
    assert all(f">{name}<" in drawn for name in ("default", "lexical", "evidence", "chain"))
    before = {path: path.read_bytes() for path in (page, *linked)}
    report.main(arguments)
    assert before == {path: path.read_bytes() for path in before}


def test_the_same_row_in_two_files_is_refused(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows[:1]))
    with pytest.raises(ValueError, match=r"b\.json and .*a\.json both have"):
        report.read(tmp_path)
    with pytest.raises(ValueError, match="holds no rows"):
        report.read(tmp_path / "nowhere")
