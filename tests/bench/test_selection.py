from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench import report, selection
from bench.selection import RULES, Task, density, exact, first_fail
from foveate.compressors.selection import Costs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from foveate import Proxy

    Write = Callable[[str, list[dict[str, Any]]], Path]


def task(values: Sequence[float], units: Sequence[int], titles: Sequence[int], limit: int) -> Task:
    owners = np.sort(np.arange(len(values)) % max(len(titles), 1))
    return Task(np.array(values), owners, Costs(np.array(units), np.array(titles)), limit)


def cost(of: Task, units: Sequence[int]) -> int:
    opened = {int(of.owners[unit]) for unit in units}
    return int(of.costs.units[list(units)].sum() + of.costs.passages[list(opened)].sum())


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    count = draw(st.integers(1, 8))
    titles = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    values = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    units = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    return task([v / 20 for v in values], units, titles, draw(st.integers(0, 40)))


@given(tasks())
def test_exact_finds_the_best_of_all_selections_that_fit(given: Task) -> None:
    every = range(len(given.values))
    best = max(
        given.values[list(units)].sum()
        for size in range(len(given.values) + 1)
        for units in itertools.combinations(every, size)
        if not units or cost(given, units) <= given.limit
    )
    found = exact(given)
    assert given.values[found].sum() == pytest.approx(best)
    assert not found or cost(given, found) <= given.limit


@given(tasks())
def test_no_rule_is_over_the_limit(given: Task) -> None:
    for rule in (first_fail, density):
        found = rule(given)
        assert found == sorted(set(found))
        assert not found or cost(given, found) <= given.limit


def test_what_stops_at_the_first_that_does_not_fit_leaves_room() -> None:
    given = task([0.9, 0.8, 0.7], [4, 9, 4], [0], 8)
    assert first_fail(given) == [0]
    assert exact(given) == [0, 2]


def test_density_takes_two_short_ones_for_a_long_better_one() -> None:
    assert density(task([0.9, 0.6, 0.6], [8, 4, 4], [0], 8)) == [1, 2]


def test_there_is_a_row_for_each_rule_and_budget_with_the_difference_to_greedy(
    write: Write,
    evidence_rows: list[dict[str, Any]],
    tiny_proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path, out = write("mini", evidence_rows), tmp_path / "rows.json"
    monkeypatch.setattr("foveate.load_proxy", lambda name: tiny_proxy)
    arguments = ["--data", str(path), "--budget", "0.5", "--scorer", "lexical", "--json", str(out)]
    selection.main(arguments)
    rows = json.loads(out.read_text())
    assert [row["rule"] for row in rows] == list(RULES)
    assert all(0 < row["kept_share"] <= 0.5 for row in rows)
    assert "minus_greedy" not in rows[0]
    assert rows[1]["minus_greedy"]["evidence_recall"]["n"] == rows[0]["n"]


def test_the_page_has_a_section_for_such_rows(
    write: Write,
    evidence_rows: list[dict[str, Any]],
    tiny_proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path, page = write("mini", evidence_rows), tmp_path / "page.md"
    monkeypatch.setattr("foveate.load_proxy", lambda name: tiny_proxy)
    (tmp_path / "results").mkdir()
    out = tmp_path / "results" / "selection.json"
    arguments = ["--data", str(path), "--budget", "0.5", "--scorer", "lexical", "--json", str(out)]
    selection.main(arguments)
    report.main(["--results", str(out.parent), "--page", str(page)])
    text = page.read_text()
    assert "### mini, selection" in text
    assert "evidence recall over greedy" in text
    assert text.count("| first-fail |") == 1
