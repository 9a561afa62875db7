from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage
from foveate.compressors.features import FUSED, Features
from foveate.compressors.ranking import standardise

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

PASSAGES = [
    Passage(
        "The Salt Bride was composed by Ilka Dorvan. It has three acts.", title="The Salt Bride"
    ),
    Passage("She was born in the Teld Valley. She died in 1939.", title="Ilka Dorvan"),
    Passage("Trams run through the old town. They are green.", title="Velmar"),
]
QUERY = "Where was the composer of The Salt Bride born?"


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_standardised_values_have_mean_0_and_deviation_1(values: list[float]) -> None:
    out = standardise(values)
    assert np.isfinite(out).all()
    if len(set(values)) > 1 and np.std(values) > 1e-6:
        assert out.mean() == pytest.approx(0, abs=1e-6)
        assert out.std() == pytest.approx(1, abs=1e-6)


def test_there_is_one_finite_value_for_each_unit_and_feature(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, [*PASSAGES, Passage(""), Passage("x")], proxy=tiny_proxy)
    matrix = Features(candidates).matrix(FUSED)
    assert matrix.shape == (len(candidates.units), len(FUSED))
    assert np.isfinite(matrix).all()


def test_passages_without_any_unit_give_an_empty_matrix(tiny_proxy: Proxy) -> None:
    assert Features(Candidates(QUERY, [Passage("")], proxy=tiny_proxy)).matrix(FUSED).shape[0] == 0


def test_a_title_that_a_top_unit_names_marks_its_passage(tiny_proxy: Proxy) -> None:
    features = Features(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    features.top = [0]  # "The Salt Bride was composed by Ilka Dorvan."
    assert features.named.tolist() == [0, 0, 1, 1, 0, 0]


def test_the_bridge_reaches_other_passages_by_words_that_the_query_lacks(
    tiny_proxy: Proxy,
) -> None:
    features = Features(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    features.top = [0]
    assert (features.bridge[:2] == 0).all()  # its own passage
    assert features.bridge[2] > features.bridge[4]  # "Ilka Dorvan" in the title


def test_place_features_say_what_they_say(tiny_proxy: Proxy) -> None:
    features = Features(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    assert features.first.tolist() == [1, 0, 1, 0, 1, 0]
    assert features.title_in_query[0] == 1.0
    assert features.title_in_query[2] == 0.0
    assert features.length.argmax() == 0


def test_attention_features_follow_the_reading(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    one_head = tiny_proxy.with_heads([(1, 2)])
    alone = Candidates(QUERY, PASSAGES, proxy=one_head)
    order = np.argsort(alone.reading.mass[0])
    assert (np.diff(Features(alone).attention[order]) >= 0).all()
    assert Features(candidates).attention.shape == Features(alone).attention.shape
