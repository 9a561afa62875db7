from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.by_token import TokenAttention
from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage
from foveate.compressors import SCORERS
from foveate.compressors.reattn import query_idf, reweighed, spread
from foveate.compressors.retrieval_heads import RetrievalHeads

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

QUERY = "What did the ship carry?"
PASSAGES = [
    Passage("The ship left. It carried salt.", "ship", "Ship"),
    Passage("", "empty"),
    Passage("Nobody saw the storm. Masts broke.", "storm", "Storm"),
]


def attention(ids: list[int], passages: list[int]) -> TokenAttention:
    zeros = np.zeros((1, len(ids)), dtype=np.float32)
    place = np.array(passages, dtype=np.int64)
    return TokenAttention(np.array(ids, dtype=np.int64), place, place, zeros, zeros, zeros[:, 0])


def test_echoes_of_the_query_weigh_less_the_more_candidates_hold_them(
    tiny_proxy: Proxy,
) -> None:
    tokenizer = tiny_proxy.tokenizer
    a, b, x = (int(tokenizer.encode_text(letter).ids[0]) for letter in "abx")
    tokens = attention([a, b, x, a, x, a, x], [0, 0, 0, 1, 1, 2, 2])
    everywhere, once, unasked = query_idf(tokens, "AB", tokenizer)[:3]  # case does not matter
    assert everywhere < once
    assert everywhere == pytest.approx(np.log(2) / np.log(4))
    assert once == unasked == 1.0


def test_one_passage_alone_loses_no_weight(tiny_proxy: Proxy) -> None:
    ids = tiny_proxy.tokenizer.encode_text("abc").ids.tolist()
    assert query_idf(attention(ids, [0] * 3), "abc", tiny_proxy.tokenizer).tolist() == [1, 1, 1]


def test_attention_over_several_tokens_counts_for_more_than_a_lone_peak() -> None:
    groups = np.array([0] * 4 + [1] * 4 + [2])
    seen = np.array([0.25] * 4 + [1.0, 0, 0, 0] + [1.0])
    even, peak, single, none = spread(seen, groups, 4)
    assert even == pytest.approx(1.0)
    assert peak == single == none == pytest.approx(0.5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_factor_stays_within_its_bounds(seen: list[float]) -> None:
    (factor,) = spread(np.array(seen), np.zeros(len(seen), dtype=np.int64), 1)
    assert 0.5 <= factor <= 1.0


def test_each_head_keeps_its_total_and_its_units_change(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    weighed = reweighed(candidates)
    np.testing.assert_allclose(weighed.mass.sum(1), candidates.reading.mass.sum(1), rtol=1e-4)
    assert np.abs(weighed.mass - candidates.reading.mass).max() > 1e-4


def test_an_echo_loses_to_the_unit_that_says_something_else(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = [Passage("aaaa"), Passage("aaaa"), Passage("xyzw")]
    candidates = Candidates("aaaa", passages, proxy=tiny_proxy)
    reading = candidates.read("aaaa", by_token=True)
    tokens = reading.by_token
    assert tokens is not None
    # Every token gets the same: only the weights can tell the units apart.
    even = TokenAttention(
        tokens.ids,
        tokens.passages,
        tokens.units,
        np.full_like(tokens.mean, 0.01),
        tokens.last,
        tokens.last_head,
    )
    monkeypatch.setattr(candidates, "read", lambda *_, **__: _with(reading, even))
    mass = reweighed(candidates).mass
    assert (mass[:, 2] > mass[:, 0] * 1.2).all()


def _with(reading: Any, tokens: TokenAttention) -> Any:
    from dataclasses import replace

    return replace(reading, by_token=tokens)


def test_the_name_is_the_option_switched_on(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    named, option = SCORERS.make("reattn"), RetrievalHeads(reattn=True)
    plain = RetrievalHeads().score(candidates).units
    np.testing.assert_array_equal(named.score(candidates).units, option.score(candidates).units)
    assert np.abs(plain - option.score(candidates).units).max() > 1e-6
    assert named.reads_itself
    assert not RetrievalHeads().reads_itself
