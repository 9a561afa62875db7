from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.errors import UnknownNameError
from foveate.blocks.passage import Passage
from foveate.reorder import ORDERERS

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

TEXTS = [
    "Ships wait.",
    "The harbour froze in March, and nobody wrote it down.",
    "",
    "Storms came. Masts broke.",
]


def scored(values: list[float]) -> tuple[Candidates, Scores]:
    candidates = Candidates("q", [Passage(str(n)) for n in range(len(values))])
    return candidates, Scores(np.array(values), np.array(values), 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_every_order_is_a_permutation(values: list[float]) -> None:
    for name in ("original", "score", "ends-first"):
        order = ORDERERS.make(name).order(*scored(values))
        assert sorted(order) == list(range(len(values)))


def test_score_puts_the_best_first_and_keeps_ties_in_place() -> None:
    assert ORDERERS.make("score").order(*scored([0.1, 0.9, 0.5, 0.9])) == [1, 3, 2, 0]


def test_ends_first_puts_the_worst_in_the_middle() -> None:
    assert ORDERERS.make("ends-first").order(*scored([0.5, 0.1, 0.9, 0.7, 0.3])) == [2, 0, 1, 4, 3]


def test_original_leaves_the_callers_order() -> None:
    assert ORDERERS.make("original").order(*scored([0.1, 0.9])) == [0, 1]


def test_attention_sorting_puts_the_most_attended_per_token_last(tiny_proxy: Proxy) -> None:
    candidates = Candidates("What froze?", [Passage(t) for t in TEXTS], proxy=tiny_proxy)
    order = ORDERERS.make("attention-sorting").order(candidates, scored([0.0] * 4)[1])
    reading = candidates.reading
    per_token = [
        reading.last[:, reading.owners == p].sum()
        / max(reading.tokens[reading.owners == p].sum(), 1)
        for p in range(4)
    ]
    assert sorted(order) == [0, 1, 2, 3]
    assert [per_token[p] for p in order] == sorted(per_token)


def test_attention_sorting_does_not_depend_on_the_order_it_is_given(tiny_proxy: Proxy) -> None:
    def ids(passages: list[Passage]) -> list[str]:
        candidates = Candidates("What froze?", passages, proxy=tiny_proxy)
        order = ORDERERS.make("attention-sorting").order(candidates, scored([0.0] * 4)[1])
        return [passages[i].id for i in order]

    passages = [Passage(text, str(n)) for n, text in enumerate(TEXTS)]
    assert ids(passages) == ids(passages[::-1])


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"ends-first.*original.*score"):
        ORDERERS.make("best")


def test_an_instance_is_taken_as_it_is() -> None:
    orderer: Any = ORDERERS.make("score")
    assert ORDERERS.make(orderer) is orderer
