"""The reading against one forward of eager attention under a 4D block mask: invariants 1, 3 and 4
of the design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from foveate.blocks.passage import Passage
from foveate.blocks.reading import Slots

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Reading

PASSAGES = (
    Passage("The lighthouse keeper kept a log. He wrote in it each night.", "a", "Lighthouse"),
    Passage("Storms came in March.", "b"),
    Passage("The harbour froze twice. Ships waited. Nobody wrote it down.", "c", "Harbour"),
)
QUERY = "Who kept the log?"


@pytest.fixture(params=["tiny", pytest.param("default", marks=pytest.mark.model)])
def proxy(request: pytest.FixtureRequest) -> Proxy:
    chosen: Proxy = request.getfixturevalue(f"{request.param}_proxy")
    return chosen


def test_reading_equals_eager_attention_under_a_block_mask(proxy: Proxy, oracle: Any) -> None:
    blocks = proxy.encode(PASSAGES)
    reading = proxy.read(QUERY, blocks)
    by_slot, slots = oracle.by_slot(proxy, QUERY, blocks)
    np.testing.assert_allclose(reading.mass, by_slot.mean(1)[:, : slots.units], atol=1e-5)
    np.testing.assert_allclose(reading.peak, by_slot.max(1)[:, : slots.units], atol=1e-5)
    np.testing.assert_allclose(reading.last, by_slot[:, -1, : slots.units], atol=1e-5)
    np.testing.assert_allclose(reading.head_share, by_slot.mean(1)[:, slots.head], atol=1e-5)
    np.testing.assert_allclose(
        reading.titles, by_slot.mean(1)[:, slots.units : slots.head], atol=1e-5
    )


def test_one_block_reads_like_a_plain_prefill(proxy: Proxy, oracle: Any) -> None:
    blocks = proxy.encode(PASSAGES[:1])
    rows = proxy.prompt.query(QUERY)
    ids = [*proxy.prompt.head, *blocks[0].ids.tolist(), *rows]
    attentions = oracle.eager(proxy.model, ids, range(len(ids)), None)
    slots = Slots(blocks, len(proxy.prompt.head), len(rows))
    reading = proxy.read(QUERY, blocks)
    for place, (layer, head) in enumerate(proxy.heads):
        row = attentions[layer][0, head, -len(rows) :].mean(0).numpy()
        expected = np.bincount(slots.of_key, weights=row, minlength=slots.count)
        np.testing.assert_allclose(reading.mass[place], expected[: slots.units], atol=1e-5)


def test_permuting_the_passages_changes_no_score(proxy: Proxy) -> None:
    forward = proxy.read(QUERY, proxy.encode(PASSAGES))
    turned = proxy.read(QUERY, proxy.encode(PASSAGES[::-1]))
    for passage in range(3):
        here = forward.mass[:, forward.owners == passage]
        there = turned.mass[:, turned.owners == 2 - passage]
        np.testing.assert_allclose(here, there, atol=1e-4)


def test_the_early_exit_changes_no_score(tiny_proxy: Proxy) -> None:
    shallow = tiny_proxy.with_heads([(1, 0), (1, 3), (0, 2)])
    assert shallow.depth == 2
    deep, early = (p.read(QUERY, p.encode(PASSAGES)) for p in (tiny_proxy, shallow))
    places = [deep.heads.index(head) for head in early.heads]
    np.testing.assert_array_equal(deep.mass[places], early.mass)


def test_the_baseline_is_what_the_content_free_query_reads(proxy: Proxy) -> None:
    blocks = proxy.encode(PASSAGES[:1])
    reading = proxy.read("N/A", blocks)
    np.testing.assert_allclose(reading.mass, reading.baseline, atol=1e-5)
    np.testing.assert_allclose(reading.head_share, reading.baseline_head[:, 0], atol=1e-5)


def test_attention_is_shared_out_completely(proxy: Proxy) -> None:
    reading: Reading = proxy.read(QUERY, proxy.encode(PASSAGES))
    total = reading.mass.sum(1) + reading.titles.sum(1) + reading.head_share + reading.query_share
    np.testing.assert_allclose(total, 1.0, atol=1e-5)
