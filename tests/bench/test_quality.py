from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench import quality
from bench.baselines import Lead, text_of, truncated
from bench.data import Record, load
from bench.log import Log
from bench.systems import Bench
from foveate import Engine, Options, Passage
from foveate.blocks.candidates import Candidates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from foveate import Proxy

    Write = Callable[[str, list[dict[str, Any]]], Path]

DOCUMENTED = {
    "system",
    "data",
    "budget",
    "n",
    "evidence_recall",
    "chain_rate",
    "answer_survival",
    "kept_share",
    "ms_cold",
    "ms_warm",
    "ci",
}


@pytest.fixture
def sweep(
    write: Write,
    evidence_rows: list[dict[str, Any]],
    tiny_proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., list[dict[str, Any]]]:
    path, out = write("mini", evidence_rows), tmp_path / "rows.json"
    monkeypatch.setattr("foveate.load_proxy", lambda name: tiny_proxy)

    def run(*arguments: str) -> list[dict[str, Any]]:
        quality.main(["--data", str(path), "--json", str(out), *arguments])
        found: list[dict[str, Any]] = json.loads(out.read_text())
        return found

    return run


def test_rows_for_every_system_and_budget_with_the_documented_fields(
    sweep: Callable[..., list[dict[str, Any]]],
) -> None:
    systems = ["default", "lexical", "random", "lead", "truncate", "full"]
    rows = sweep("--systems", ",".join(systems), "--budget", "0.5", "64")
    assert {(r["system"], r["budget"]) for r in rows} == {
        ("full", 1.0),
        *((s, b) for s in systems[:-1] for b in (0.5, 64)),
    }
    for row in rows:
        assert row.keys() >= DOCUMENTED
        assert row["n"] == 3
    by_system = {r["system"]: r for r in rows if r["budget"] in (0.5, 1.0)}
    assert by_system["full"]["evidence_recall"] == by_system["full"]["kept_share"] == 1.0
    assert by_system["lexical"]["answer_survival"] == 1.0
    assert by_system["truncate"]["kept_share"] <= 0.5
    gain = by_system["default"]["minus_lexical"]["evidence_recall"]
    difference = by_system["default"]["evidence_recall"] - by_system["lexical"]["evidence_recall"]
    assert gain["mean"] == pytest.approx(difference, abs=1e-3)
    assert "minus_lexical" not in by_system["lexical"]


def test_a_second_run_measures_only_what_is_missing(
    sweep: Callable[..., list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sweep("--systems", "lexical", "--limit", "2")
    asked: list[tuple[str, str]] = []
    run = Bench.run

    def watched(self: Bench, system: str, record: Any, budgets: Any) -> Any:
        asked.append((system, record.id))
        return run(self, system, record, budgets)

    monkeypatch.setattr(Bench, "run", watched)
    again = sweep("--systems", "lexical", "--limit", "2")
    assert again == first
    assert asked == []
    more = sweep("--systems", "lexical,lead", "--limit", "3")
    assert sorted(asked) == [("lead", "r0"), ("lead", "r1"), ("lead", "r2"), ("lexical", "r2")]
    assert {(r["system"], r["n"]) for r in more} == {("lead", 3), ("lexical", 3)}


def test_held_out_records_do_not_join_those_that_were_tuned_on(
    sweep: Callable[..., list[dict[str, Any]]],
) -> None:
    sweep("--systems", "lexical", "--limit", "2")
    with pytest.raises(ValueError, match="another skip"):
        sweep("--systems", "lexical", "--skip", "2")
    assert sweep("--systems", "lexical", "--skip", "2", "--fresh")[0]["n"] == 1


def test_systems_that_were_not_given_the_same_are_said_to_be(
    sweep: Callable[..., list[dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    # Eleven characters hold no unit, but do hold a part of one.
    rows = sweep("--systems", "lexical,truncate", "--budget", "11")
    gaps = {r["system"]: r["kept_gap"] for r in rows}
    assert gaps["truncate"] == 0.0
    assert (gaps["lexical"] > quality.FAIR) == ("lexical kept" in capsys.readouterr().err)
    assert gaps["lexical"] > quality.FAIR


@pytest.mark.parametrize("scorer", ["fused", "lexical"])
def test_the_context_is_what_the_engine_gives(
    scorer: str, write: Write, evidence_rows: list[dict[str, Any]], tiny_proxy: Proxy
) -> None:
    record, *_ = load(write("mini", evidence_rows))
    bench = Bench(tiny_proxy)
    budgets = [0.3, 0.6, 64]
    for budget, kept in zip(
        budgets, bench.contexts(bench.scorers(scorer)[0], record, budgets), strict=True
    ):
        context = Engine(tiny_proxy, scorer=scorer).compress(
            record.query, record.passages, Options(budget=budget)
        )
        assert (kept.text, kept.tokens) == (context.text, context.tokens_after)
        assert kept.nothing == pytest.approx(context.nothing)


def test_what_leans_on_a_dropped_sentence_is_counted(tiny_proxy: Proxy) -> None:
    text = "Anna Brand built a wall. She was born in a house. She froze in the harbour."
    record = Record("Who froze in the harbour?", (Passage(text, "a"),), (), ())
    bench = Bench(tiny_proxy)
    (tight, roomy) = bench.contexts(bench.scorers("lexical")[0], record, [30, 1.0])
    assert "froze" in tight.text
    assert "Anna" not in tight.text
    assert (tight.dangling, roomy.dangling) == (1.0, 0.0)


def test_lead_takes_first_units_round_robin() -> None:
    passages = [Passage("One. Two. Three.", "a"), Passage("Four. Five.", "b")]
    candidates = Candidates("q", passages)
    ranked = sorted(range(5), key=lambda unit: -Lead().score(candidates).units[unit])
    assert [candidates.texts[unit].strip() for unit in ranked] == [
        "One.",
        "Four.",
        "Two.",
        "Five.",
        "Three.",
    ]


def test_truncate_is_the_longest_beginning_within_the_limit() -> None:
    passages = [Passage("abc", "a", "T"), Passage("defgh", "b")]
    spans = truncated(passages, 10, len)
    assert text_of(passages, spans) == "T\nabc\n\ndef"
    assert spans == {0: [(0, 3)], 1: [(0, 3)]}
    assert truncated(passages, 1, len) == {}


def test_a_system_that_is_none_is_refused_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        quality.main(["--data", "nowhere", "--systems", "lexical,sentinal"])
    assert "sentinal: no such system; choose from" in capsys.readouterr().err


def test_budgets_are_shares_with_a_point_and_tokens_without() -> None:
    assert [quality.budget_of(t) for t in ("0.3", "256", "1.0")] == [0.3, 256, 1.0]
    assert isinstance(quality.budget_of("256"), int)


def test_outcomes_come_back_from_the_log_by_record(tmp_path: Path, tiny_proxy: Proxy) -> None:
    record = load_one()
    log = Log(tmp_path / "log.jsonl", {})
    quality.run(Bench(tiny_proxy), log, "mini", [record], ["lexical"], [0.5])
    groups = quality.grouped(Log(tmp_path / "log.jsonl", {}).entries)
    assert groups.keys() == {("mini", "lexical", 0.5)}
    assert groups["mini", "lexical", 0.5].keys() == {"x"}


def load_one() -> Any:
    from bench.data import Record

    return Record("Which?", (Passage("Which one. The other.", "a"),), (), ("other",), id="x")
