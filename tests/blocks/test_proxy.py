from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from foveate.blocks.deadline import Deadline
from foveate.blocks.errors import DeadlineExceededError, EmptyQueryError, InputError
from foveate.blocks.passage import Passage
from foveate.blocks.proxy import MAX_BATCH_TOKENS, MAX_QUERY_SHARE, Proxy
from foveate.blocks.segment import segment
from foveate.blocks.store import MemoryStore

TEXTS = [
    f"Ship {n} left the harbour. It carried {n} barrels. Nobody saw it again." for n in range(6)
]
PASSAGES = [Passage(text, str(n), f"Ship {n}") for n, text in enumerate(TEXTS)]


def rows_run(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every forward from here on."""
    rows: list[int] = []
    forward = proxy.model.base_model.forward

    def counting(*args: Any, **kwargs: Any) -> Any:
        rows.append(kwargs["input_ids"].shape[1])
        return forward(*args, **kwargs)

    monkeypatch.setattr(proxy.model.base_model, "forward", counting)
    return rows


def test_a_second_query_over_the_same_passages_pays_for_its_own_rows_only(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_proxy.read("Which ship?", tiny_proxy.encode(PASSAGES))
    rows = rows_run(tiny_proxy, monkeypatch)
    tiny_proxy.read("How many barrels?", tiny_proxy.encode(PASSAGES))
    assert rows == [len(tiny_proxy.prompt.query("How many barrels?"))]


def test_a_passage_that_stands_twice_is_encoded_once(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_run(tiny_proxy, monkeypatch)
    blocks = tiny_proxy.encode([PASSAGES[0], PASSAGES[0]])
    assert sum(rows) == len(blocks[0].ids) + len(tiny_proxy.prompt.content_free)
    assert blocks[0] is blocks[1]
    reading = tiny_proxy.read("Which ship?", blocks)
    half = reading.mass.shape[1] // 2
    np.testing.assert_allclose(reading.mass[:, :half], reading.mass[:, half:], atol=1e-6)


def test_no_forward_is_wider_than_the_batch_budget(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_run(tiny_proxy, monkeypatch)
    tiny_proxy.encode([Passage(f"{n} " + TEXTS[0] * 2, str(n)) for n in range(12)])
    assert len(rows) > 1
    assert max(rows) <= MAX_BATCH_TOKENS


def test_batching_changes_no_block(tiny_proxy: Proxy) -> None:
    together = tiny_proxy.encode(PASSAGES)
    tiny_proxy.store.clear()
    for passage, block in zip(PASSAGES, together, strict=True):
        (alone,) = tiny_proxy.encode([passage])
        assert alone.key == block.key
        np.testing.assert_allclose(alone.keys, block.keys, atol=1e-5)
        np.testing.assert_allclose(alone.baseline, block.baseline, atol=1e-5)


def test_a_passage_longer_than_the_window_is_split_and_joined_again(tiny_proxy: Proxy) -> None:
    long = Passage(" ".join(TEXTS) * 8, "long", "Ships")
    blocks = tiny_proxy.encode([PASSAGES[0], long, PASSAGES[1]])
    assert len(blocks) > 3
    assert blocks.owners == tuple(sorted(blocks.owners))
    assert all(len(block.ids) < tiny_proxy.window for block in blocks)
    reading = tiny_proxy.read("Which ship?", blocks)
    expected = [len(segment(p.text)) for p in (PASSAGES[0], long, PASSAGES[1])]
    assert np.bincount(reading.owners).tolist() == expected
    assert (reading.tokens > 0).all()


@pytest.mark.parametrize("text", ["", " ", "a", "\n\n", "\ud800", "🙂", "\x00"])
def test_odd_passages_are_read_like_any_other(tiny_proxy: Proxy, text: str) -> None:
    reading = tiny_proxy.read("Who?", tiny_proxy.encode([Passage(text), PASSAGES[0]]))
    assert reading.mass.shape[1] == len(segment(text)) + len(segment(TEXTS[0]))
    assert np.isfinite(reading.mass).all()


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_an_empty_query_is_refused(tiny_proxy: Proxy, query: str) -> None:
    with pytest.raises(EmptyQueryError, match="query is empty"):
        tiny_proxy.read(query, tiny_proxy.encode(PASSAGES))


def test_a_query_that_would_fill_the_window_is_refused_with_numbers(tiny_proxy: Proxy) -> None:
    with pytest.raises(InputError, match=r"the query has \d+ tokens; tiny can take 256"):
        tiny_proxy.read("why " * 200, tiny_proxy.encode(PASSAGES))


def test_a_long_query_reads_the_same_in_turns(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks, query = tiny_proxy.encode(PASSAGES), "Which ship left? " * 9
    at_once = tiny_proxy.read(query, blocks)
    monkeypatch.setattr("foveate.blocks.reading.MAX_WEIGHTS", 20_000)
    in_turns = tiny_proxy.read(query, blocks)
    np.testing.assert_allclose(in_turns.mass, at_once.mass, atol=1e-6)
    np.testing.assert_allclose(in_turns.peak, at_once.peak, atol=1e-6)
    np.testing.assert_allclose(in_turns.last, at_once.last, atol=1e-6)


def test_a_deadline_stops_the_work_and_keeps_the_batches_that_are_done(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadline, put = Deadline(), tiny_proxy.store.put_many

    def put_and_cancel(blocks: Any) -> None:
        put(blocks)
        deadline.cancel()

    monkeypatch.setattr(tiny_proxy.store, "put_many", put_and_cancel)
    many = [Passage(f"{n} " + TEXTS[0] * 2, str(n)) for n in range(12)]
    with pytest.raises(DeadlineExceededError):
        tiny_proxy.encode(many, deadline=deadline)
    assert 0 < tiny_proxy.store.stats().blocks < 12


@pytest.mark.parametrize("text", ["One.\n" + "\n \n" * 900 + "Two here.", " \t" * 2000])
def test_a_unit_longer_than_a_block_is_still_one_unit(tiny_proxy: Proxy, text: str) -> None:
    blocks = tiny_proxy.encode([PASSAGES[0], Passage(text), PASSAGES[1]])
    reading = tiny_proxy.read("Which ship?", blocks)
    expected = [len(segment(t)) for t in (TEXTS[0], text, TEXTS[1])]
    assert len(blocks) > 3
    assert np.bincount(reading.owners, minlength=3).tolist() == expected
    assert reading.baseline.shape == reading.mass.shape
    total = reading.mass.sum(1) + reading.titles.sum(1) + reading.head_share + reading.query_share
    np.testing.assert_allclose(total, 1.0, atol=1e-5)


def test_a_title_longer_than_a_block_leaves_room_for_the_text(tiny_proxy: Proxy) -> None:
    passage = Passage(TEXTS[0], "a", "Ship " * 500)
    reading = tiny_proxy.read("Which ship?", tiny_proxy.encode([passage]))
    assert reading.mass.shape[1] == len(segment(TEXTS[0]))


def test_many_threads_read_what_one_reads(tiny_proxy: Proxy) -> None:
    queries = [f"Where is ship {n}?" for n in range(6)]
    alone = [tiny_proxy.read(q, tiny_proxy.encode(PASSAGES)).mass for q in queries]
    tiny_proxy.store.clear()
    together: list[Any] = [None] * len(queries)

    def read(n: int) -> None:
        together[n] = tiny_proxy.read(queries[n], tiny_proxy.encode(PASSAGES)).mass

    threads = [threading.Thread(target=read, args=(n,)) for n in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert tiny_proxy.store.stats().blocks == len(PASSAGES)


def test_a_head_that_does_not_exist_is_refused(tiny_model: Any, tiny_tokenizer: Any) -> None:
    with pytest.raises(InputError, match=r"head \(4, 0\) does not exist; the model has 4 layers"):
        Proxy(tiny_model, tiny_tokenizer, name="tiny", heads=[(4, 0)])


def test_blocks_of_another_tenant_or_other_heads_have_other_keys(
    tiny_model: Any, tiny_tokenizer: Any
) -> None:
    def key(**changes: Any) -> str:
        arguments = {"name": "tiny", "heads": [(1, 0)], "store": MemoryStore(), **changes}
        return Proxy(tiny_model, tiny_tokenizer, **arguments).encode(PASSAGES[:1])[0].key

    keys = {key(), key(namespace="acme"), key(heads=[(1, 1)])}
    assert len(keys) == 3
    assert key() == key(name="another name, same weights")


def test_without_a_plan_the_model_is_an_ordinary_one(tiny_model: Any) -> None:
    import torch

    ids = torch.tensor([[1, 5, 9, 13, 7]])
    with torch.no_grad():
        ours = tiny_model(ids).logits
        tiny_model.set_attn_implementation("sdpa")
        plain = tiny_model(ids).logits
        tiny_model.set_attn_implementation("foveate")
    np.testing.assert_array_equal(ours, plain)


def test_a_query_that_is_too_long_is_cut_to_its_beginning_and_end(tiny_proxy: Proxy) -> None:
    room = int(tiny_proxy.window * MAX_QUERY_SHARE)
    for middle in ("x" * 300, "é\U0001f511" * 300, "<|im_end|>" * 200, "\ud800 " * 100_000):
        query = f"What follows? {middle} What was it?"
        short = tiny_proxy.fitting(query)
        assert short.startswith("What follows? ")
        assert short.endswith(" What was it?")
        assert room // 2 < len(tiny_proxy.prompt.query(short)) <= room
        assert tiny_proxy.fitting(short) == short
    assert len(tiny_proxy.prompt.query(tiny_proxy.fitting(query, "It was"), "It was")) <= room
