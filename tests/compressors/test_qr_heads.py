from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates
from foveate.blocks.head import CONTENT_FREE_QUERY
from foveate.blocks.passage import Passage
from foveate.compressors.qr_heads import FLOOR, QRHeads, in_shares, kept_tokens

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

QUERY = "What did the ship carry?"
PASSAGES = [
    Passage("The ship left. It carried salt.", "ship", "Ship"),
    Passage("", "empty"),
    Passage("Nobody saw the storm. Masts broke.", "storm", "Storm"),
]


def look_at(monkeypatch: pytest.MonkeyPatch, changes: dict[str, dict[int, float]]) -> None:
    """Readings in which a query gives some passages so much on each token, others a little."""
    read = Candidates.read

    def bent(self: Candidates, query: str, **options: Any) -> Any:
        reading = read(self, query, **options)
        assert reading.by_token is not None
        looks = np.array([changes[query].get(p, 0.001) for p in reading.by_token.passages])
        mean = np.broadcast_to(looks, reading.by_token.mean.shape).astype(np.float32)
        return replace(reading, by_token=replace(reading.by_token, mean=mean))

    monkeypatch.setattr(Candidates, "read", bent)


def test_what_any_query_would_see_is_taken_off(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The storm draws every query; the ship a little less, but only this one.
    look_at(monkeypatch, {QUERY: {0: 0.010, 2: 0.012}, CONTENT_FREE_QUERY: {2: 0.011}})
    scores = QRHeads().score(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    assert scores.passages.argmax() == 0
    assert scores.units[:2].min() > scores.units[2:].max()
    assert scores.nothing == pytest.approx(0.1, abs=0.01)


def test_a_query_that_sees_what_any_query_sees_finds_nothing(tiny_proxy: Proxy) -> None:
    scores = QRHeads().score(Candidates(CONTENT_FREE_QUERY, PASSAGES, proxy=tiny_proxy))
    assert scores.nothing == pytest.approx(1.0)


def test_scores_are_the_calibrated_sums_over_tokens(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    scores = QRHeads().score(candidates)
    asked, free = (
        tiny_proxy.read(q, candidates.blocks, by_token=True).by_token
        for q in (QUERY, CONTENT_FREE_QUERY)
    )
    assert asked is not None
    assert free is not None
    gain = (asked.mean - free.mean).mean(0)
    sums = []
    for passage in range(3):
        own = gain[asked.passages == passage]
        sums.append(own[own >= own.mean() - 2 * own.std() - 1e-9].sum())
    assert np.argsort(scores.passages).tolist() == np.argsort(sums).tolist()


def test_the_blocks_are_encoded_once_for_both_queries(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    _ = candidates.blocks
    monkeypatch.setattr(tiny_proxy, "encode", None)
    assert len(QRHeads().score(candidates).passages) == 3


def test_tokens_far_below_their_own_passages_mean_are_left_out() -> None:
    gain = np.array([1.0] * 9 + [-9.0] + [-9.0] * 5)
    passages = np.array([0] * 10 + [1] * 5)
    assert kept_tokens(gain, passages).tolist() == [True] * 9 + [False] + [True] * 5


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), max_size=8))
def test_shares_keep_the_order_within_0_and_1(values: list[float]) -> None:
    raw = np.array(values)
    shares = in_shares(raw)
    assert ((shares >= 0) & (shares <= 1)).all()
    for i, low in enumerate(raw):
        for j, high in enumerate(raw):
            if low < high:
                assert shares[i] <= shares[j]
    assert (shares[raw > 0] >= FLOOR).all()
    assert (shares[raw <= 0] <= FLOOR).all()
    if (raw > 0).any():
        assert shares.max() == pytest.approx(1.0)


def test_reattn_changes_the_scores_and_their_range_does_not(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    plain, weighed = QRHeads().score(candidates), QRHeads(reattn=True).score(candidates)
    assert np.abs(plain.units - weighed.units).max() > 1e-4
    assert ((weighed.units >= 0) & (weighed.units <= 1)).all()
