from __future__ import annotations

import gzip
import json
from math import log2
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
pytest.importorskip("ir_measures", reason="needs the dependency group bench")
from bench.ir import Task, evaluate, tasks
from bench.log import Log
from bench.ranking import rank, rows, run, slots
from foveate import Passage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from foveate import Proxy

    Write = Callable[[str, list[dict[str, Any]]], Path]


def task(gold: tuple[str, ...] = ("2",), count: int = 6, name: str = "q") -> Task:
    passages = tuple(Passage(f"text {n}", str(n)) for n in range(count))
    return Task(name, "a question", passages, dict.fromkeys(gold, 1))


def test_metrics_worked_by_hand() -> None:
    # Ranked 3, 2, 0, 5, ... ; gold are 2 and 0, on ranks 2 and 3.
    found = evaluate(task(("2", "0")), [0.7, 0.1, 0.8, 0.9, 0.2, 0.3])
    assert found["recall_at_1"] == 0.0
    assert found["recall_at_2"] == 0.5
    assert found["recall_at_5"] == 1.0
    assert found["mrr"] == 0.5
    ideal = 1 + 1 / log2(3)
    assert found["ndcg_at_10"] == pytest.approx((1 / log2(3) + 1 / log2(4)) / ideal)


def test_a_relevant_passage_that_was_not_retrieved_counts_against_the_ranking() -> None:
    assert evaluate(task(("2", "elsewhere")), [0, 0, 1, 0, 0, 0])["recall_at_5"] == 0.5


def test_ties_do_not_favour_a_place() -> None:
    hits = [
        evaluate(task((str(gold),), name=f"q{n}"), [0.0] * 6)["recall_at_1"]
        for n in range(100)
        for gold in (0, 5)
    ]
    assert 0.05 < sum(hits[::2]) / 100 < 0.3
    assert 0.05 < sum(hits[1::2]) / 100 < 0.3


@pytest.mark.parametrize(("slot", "place"), [("first", 0), ("middle", 2), ("last", 5), (4, 4)])
def test_the_gold_passage_moves_and_the_others_keep_their_order(
    slot: int | str, place: int
) -> None:
    moved = [p.id for p in task().at(slot).passages]
    assert moved.index("2") == place
    assert [i for i in moved if i != "2"] == ["0", "1", "3", "4", "5"]


@pytest.mark.parametrize(("gold", "slot"), [(("1", "2"), "first"), (("2",), 6), (("2",), "top")])
def test_a_slot_that_cannot_be_is_refused(gold: tuple[str, ...], slot: int | str) -> None:
    with pytest.raises(ValueError, match=r"slot"):
        task(gold).at(slot)


def test_slots_are_names_places_and_ranges() -> None:
    assert slots("first,last,7,0..2") == ["first", "last", 7, 0, 1, 2]
    assert slots("") == [None]


def test_records_without_a_gold_passage_are_no_ranking_tasks(
    write: Write, evidence_rows: list[dict[str, Any]]
) -> None:
    evidence_rows[1]["evidence"] = []
    path = write("e", evidence_rows)
    assert [t.id for t in tasks(path)] == ["r0", "r2"]
    assert [t.relevant for t in tasks(path)] == [{"0": 1}, {"0": 1}]
    with pytest.raises(ValueError, match="no record"):
        tasks(write("none", [{**row, "evidence": []} for row in evidence_rows]))


def test_a_beir_folder_gives_what_bm25_finds_and_all_that_is_relevant(tmp_path: Path) -> None:
    pytest.importorskip("tantivy")
    corpus = [
        {"_id": "a", "title": "Harbours", "text": "The harbour of Oulu froze in 1947."},
        {"_id": "b", "title": "Storms", "text": "Masts broke, and a harbour was hit."},
        {"_id": "c", "title": "Letters", "text": "Nobody wrote."},
    ]
    queries = [{"_id": "q1", "text": "When did the harbour freeze?"}, {"_id": "q2", "text": "x"}]
    for name, lines in (("corpus", corpus), ("queries", queries)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as out:
            out.writelines(json.dumps(row) + "\n" for row in lines)
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tc\t1\nq1\tb\t0\n"
    )
    (found,) = tasks(tmp_path)
    assert {p.id for p in found.passages} == {"a", "b"}
    assert found.passages[0].title in {"Harbours", "Storms"}
    assert found.relevant == {"a": 2, "c": 1}


def test_a_run_that_was_cut_off_measures_only_what_is_missing(
    tiny_proxy: Proxy, tmp_path: Path
) -> None:
    path = tmp_path / "out.log.jsonl"
    log = Log(path, {})
    run(tiny_proxy, log, "set", [task(name="a")], ["lexical"], [None])
    first = dict(log.entries[0])
    with path.open("a") as out:
        out.write('{"data": "set", "rec')
    again = Log(path, {})
    run(tiny_proxy, again, "set", [task(name="a"), task(name="b")], ["lexical"], [None])
    assert again.entries[0] == first  # its time as well: it was not measured again
    assert [entry["record"] for entry in again.entries] == ["a", "b"]


def test_rows_compare_each_system_to_the_first_stage(tiny_proxy: Proxy) -> None:
    log = Log(None, {})
    found = [task(("0",), name="a"), task(("1",), name="b")]
    run(tiny_proxy, log, "set", found, ["given", "random", "default"], ["first"])
    given, random, default = rows(log.entries)
    assert given["recall_at_1"] == given["mrr"] == 1.0
    assert "minus_lexical" not in given
    assert random["minus_lexical"]["mrr"]["mean"] == pytest.approx(random["mrr"] - 1.0, abs=1e-4)
    assert default["n"] == default["minus_lexical"]["mrr"]["n"] == 2


def test_passages_are_ranked_by_the_scorer_that_was_named(tiny_proxy: Proxy) -> None:
    passages = (Passage("Nobody wrote.", "0"), Passage("The harbour froze in 1947.", "1"))
    scores = rank(
        Task("q", "When did the harbour freeze?", passages, {"1": 1}), "lexical", tiny_proxy
    )
    assert scores[1] > scores[0]
