from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Scores
from foveate.blocks.errors import BudgetError
from foveate.compressors.budget import Adaptive
from foveate.compressors.selection import (
    MAX_EXPLAINING,
    Costs,
    Plan,
    Selection,
    floor_of,
    select,
)

# Units as (passage, tokens, score, index of a unit of the same passage that it requires).
Case = tuple[list[tuple[int, int, float]], dict[int, int]]


@st.composite
def cases(draw: st.DrawFn, *, dependencies: bool = True) -> Any:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    owners = [p for p, size in enumerate(sizes) for _ in range(size)]
    count = len(owners)
    tokens = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    scores = draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    heads = draw(st.lists(st.integers(0, 6), min_size=len(sizes), max_size=len(sizes)))
    requires = [
        (u - 1,)
        if dependencies and u and owners[u - 1] == owners[u] and draw(st.booleans())
        else ()
        for u in range(count)
    ]
    return problem(owners, tokens, scores, heads, requires)


def problem(
    owners: list[int],
    tokens: list[int],
    scores: list[float],
    heads: list[int],
    requires: list[tuple[int, ...]] | None = None,
    nothing: float = 0.0,
) -> Any:
    units = np.array(scores, dtype=float)
    return SimpleNamespace(
        candidates=SimpleNamespace(
            owners=np.array(owners), requires=tuple(requires or [()] * len(owners))
        ),
        scores=Scores(units, np.zeros(max(owners) + 1), nothing),
        costs=Costs(np.array(tokens), np.array(heads)),
    )


def cost(p: Any, selection: Selection) -> int:
    opened = {int(p.candidates.owners[u]) for u in selection.kept}
    return int(p.costs.units[list(selection.kept)].sum() + p.costs.passages[list(opened)].sum())


def pick(p: Any, limit: int, **options: Any) -> Selection:
    return select(p.candidates, p.scores, p.costs, limit, **options)


@given(cases(), st.integers(1, 200))
def test_a_selection_is_never_over_its_limit(p: Any, limit: int) -> None:
    assert cost(p, pick(p, limit)) <= limit


@given(cases(), st.integers(1, 200))
def test_nothing_stands_without_what_it_depends_on(p: Any, limit: int) -> None:
    kept = set(pick(p, limit).kept)
    assert all(set(p.candidates.requires[unit]) <= kept for unit in kept)


@given(cases(), st.integers(1, 200))
def test_no_unit_that_would_still_fit_is_left_out(p: Any, limit: int) -> None:
    chosen = pick(p, limit)
    left = limit - cost(p, chosen)
    opened = {int(p.candidates.owners[u]) for u in chosen.kept}
    for unit, owner in enumerate(p.candidates.owners):
        if unit not in chosen.kept and not set(p.candidates.requires[unit]) - set(chosen.kept):
            extra = p.costs.units[unit] + (0 if owner in opened else p.costs.passages[owner])
            mere_filling = not chosen.kept and p.scores.units[unit] < floor_of(p.scores)
            assert extra > left or mere_filling


@given(cases(dependencies=False), st.integers(1, 150), st.integers(0, 60))
def test_more_budget_never_trades_a_better_unit_for_a_worse_one(
    p: Any, limit: int, more: int
) -> None:
    p.costs = Costs(p.costs.units, np.zeros_like(p.costs.passages))
    small, large = set(pick(p, limit).kept), set(pick(p, limit + more).kept)
    for unit in np.argsort(-p.scores.units, kind="stable").tolist():
        if (unit in small) != (unit in large):
            assert unit in large
            break


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(1, 30), st.integers(0, 9))
def test_where_units_cost_the_same_a_larger_budget_keeps_all_that_a_smaller_one_kept(
    scores: list[float], limit: int, more: int
) -> None:
    p = problem([0] * len(scores), [3] * len(scores), scores, [0])
    assert set(pick(p, limit).kept) <= set(pick(p, limit + more).kept)


@given(cases())
def test_with_room_for_all_all_is_kept(p: Any) -> None:
    total = int(p.costs.units.sum() + p.costs.passages.sum())
    assert pick(p, total).kept == tuple(range(len(p.candidates.owners)))


def test_a_unit_that_does_not_fit_is_skipped_and_the_next_is_tried() -> None:
    p = problem([0, 0, 0], [10, 50, 10], [0.9, 0.8, 0.7], [0])
    assert pick(p, 25).kept == (0, 2)


def test_the_title_is_paid_for_once_and_by_the_passage_that_has_it() -> None:
    p = problem([0, 0, 1], [10, 10, 10], [0.9, 0.8, 0.7], [5, 50])
    assert pick(p, 25).kept == (0, 1)
    assert pick(p, 24).kept == (0,)


def test_pins_come_first_however_irrelevant() -> None:
    p = problem([0, 1], [10, 10], [0.9, 0.0], [0, 0])
    chosen = pick(p, 12, plan=Plan(musts={1: "pinned"}))
    assert chosen.kept == (1,)
    assert chosen.reasons[1] == "pinned"


def test_pins_that_do_not_fit_are_refused_with_the_limit() -> None:
    p = problem([0, 1], [10, 10], [0.9, 0.0], [0, 0])
    with pytest.raises(BudgetError, match="does not fit into 15 tokens"):
        pick(p, 15, plan=Plan(musts={0: "pinned", 1: "pinned"}))


def test_a_dependency_says_whom_it_serves() -> None:
    p = problem([0, 0], [5, 5], [0.1, 0.9], [0], [(), (0,)])
    assert pick(p, 10).reasons == {0: "needed by unit 1", 1: "relevant"}


def test_an_adaptive_budget_stops_when_the_relevance_is_held() -> None:
    p = problem([0] * 4, [10] * 4, [0.6, 0.3, 0.05, 0.05], [0])
    assert pick(p, 1000, adaptive=Adaptive(mass=0.8, floor=0.0)).kept == (0, 1)
    assert pick(p, 1000, adaptive=Adaptive(mass=1.0, floor=0.2)).kept == (0, 1)


def test_an_adaptive_budget_keeps_nothing_if_nothing_is_relevant() -> None:
    p = problem([0] * 2, [10] * 2, [0.01, 0.02], [0], nothing=0.95)
    assert pick(p, 1000, adaptive=Adaptive(mass=0.9, floor=0.0)).kept == ()


def test_filling_is_not_kept_alone_where_what_is_relevant_does_not_fit() -> None:
    p = problem([0, 0, 0], [50, 10, 10], [0.9, 0.001, 0.0], [0])
    assert pick(p, 25).kept == ()
    assert pick(p, 60).kept == (0, 1)


def test_filling_is_kept_where_something_relevant_is_or_nothing_is() -> None:
    p = problem([0, 0, 0], [50, 10, 10], [0.9, 0.5, 0.0], [0])
    assert pick(p, 25).kept == (1, 2)
    p = problem([0, 0], [10, 10], [0.0, 0.0], [0])
    assert pick(p, 10).kept == (0,)


def test_a_heading_comes_with_something_of_its_section_or_not_at_all() -> None:
    p = problem([0, 0, 0], [5, 30, 10], [0.9, 0.8, 0.1], [0])
    plan = Plan(sections={0: (1, 2)})
    assert pick(p, 9, plan=plan).kept == ()
    chosen = pick(p, 15, plan=plan)
    assert chosen.kept == (0, 2)
    assert chosen.reasons == {0: "relevant", 2: "stands under unit 0"}
    assert pick(p, 35, plan=plan).kept == (0, 1)


def test_what_a_unit_leans_on_comes_before_what_is_less_relevant() -> None:
    p = problem([0, 0, 1], [10, 10, 10], [0.1, 0.9, 0.5], [0, 0])
    chosen = pick(p, 20, plan=Plan(antecedents={1: (0,)}))
    assert chosen.kept == (0, 1)
    assert chosen.reasons[0] == "explains unit 1"


def test_a_strong_unit_stays_even_without_what_it_leans_on() -> None:
    p = problem([0, 0, 1], [30, 10, 10], [0.1, 0.9, 0.5], [0, 0])
    assert pick(p, 20, plan=Plan(antecedents={1: (0,)})).kept == (1, 2)


def test_a_weak_unit_waits_if_what_it_leans_on_does_not_fit() -> None:
    p = problem([0, 0, 1, 1], [30, 10, 10, 10], [0.0, 0.2, 0.9, 0.1], [0, 0])
    assert pick(p, 20, plan=Plan(antecedents={1: (0,)})).kept == (2, 3)
    assert pick(p, 30, plan=Plan(antecedents={1: (0,)})).kept == (1, 2, 3)


def test_of_a_long_chain_only_so_much_is_brought() -> None:
    p = problem([0] * 40, [1] * 40, [0.0] * 39 + [0.9], [0])
    chosen = pick(p, 20, plan=Plan(antecedents={n: (n - 1,) for n in range(1, 40)}))
    brought = [unit for unit, why in chosen.reasons.items() if why == "explains unit 39"]
    assert brought == list(range(39 - MAX_EXPLAINING, 39))


def test_what_says_next_to_nothing_and_leans_is_tried_when_all_else_was() -> None:
    scores = [0.0, 0.9, 0.002, 0.001]
    p = problem([0, 1, 0, 1], [10, 10, 10, 10], scores, [0, 0])
    plan = Plan(antecedents={2: (0,)})
    assert pick(p, 30, plan=plan).kept == (0, 1, 3)
    assert pick(p, 40, plan=plan).kept == (0, 1, 2, 3)
    p.scores.units[2] = 0.2
    assert pick(p, 30, plan=plan).kept == (0, 1, 2)


def test_of_units_that_say_the_same_one_is_kept_the_best_that_fits() -> None:
    p = problem([0, 1, 2], [10, 10, 10], [0.8, 0.9, 0.1], [0, 15, 0])
    plan = Plan(twins={0: 7, 1: 7})
    assert pick(p, 35, plan=plan).kept == (1, 2)
    assert pick(p, 20, plan=plan).kept == (0, 2)
