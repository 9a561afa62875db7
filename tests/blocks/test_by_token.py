from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

SHIP = Passage("The ship left. It carried salt.", "ship", "Ship")
LONG = Passage("Nobody saw the storm. Masts broke on the pier. " * 30, "long", "Storm")
EMPTY = Passage("", "empty")
QUERY = "What did the ship carry?"


def test_each_token_gets_what_eager_attention_gives_it(tiny_proxy: Proxy, oracle: Any) -> None:
    (block,) = blocks = tiny_proxy.encode([SHIP])
    tokens = tiny_proxy.read(QUERY, blocks, by_token=True).by_token
    assert tokens is not None
    head, rows = list(tiny_proxy.prompt.head), tiny_proxy.prompt.query(QUERY)
    ids = [*head, *block.ids.tolist(), *rows]
    attentions = oracle.eager(tiny_proxy.model, ids, range(len(ids)), None)
    here = slice(len(head), len(head) + len(block.ids))
    for place, (layer, which) in enumerate(tiny_proxy.heads):
        eager = attentions[layer][0, which, -len(rows) :].numpy()
        np.testing.assert_allclose(tokens.mean[place], eager[:, here].mean(0), atol=1e-5)
        np.testing.assert_allclose(tokens.last[place], eager[-1, here], atol=1e-5)
        np.testing.assert_allclose(tokens.last_head[place], eager[-1, : len(head)].sum(), atol=1e-5)


def test_tokens_add_up_to_units_and_title_lines(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = tiny_proxy.encode([SHIP, EMPTY, LONG])
    monkeypatch.setattr("foveate.blocks.reading.MAX_WEIGHTS", 20_000)  # in turns of rows
    reading = tiny_proxy.read(QUERY, blocks, by_token=True)
    tokens = reading.by_token
    assert tokens is not None
    assert len(blocks) > 3  # the long one is split
    inside = tokens.units >= 0
    for place in range(len(reading.heads)):
        units = np.bincount(tokens.units[inside], tokens.mean[place, inside])
        np.testing.assert_allclose(units, reading.mass[place], atol=1e-5)
        last = np.bincount(tokens.units[inside], tokens.last[place, inside])
        np.testing.assert_allclose(last, reading.last[place], atol=1e-5)
    titles = tokens.passages[~inside]
    assert (np.bincount(titles, minlength=3)[[0, 2]] > 0).all()
    assert (tokens.passages[inside] == reading.owners[tokens.units[inside]]).all()


def test_tokens_are_kept_on_request_alone(tiny_proxy: Proxy) -> None:
    assert tiny_proxy.read(QUERY, tiny_proxy.encode([SHIP])).by_token is None


def test_an_answer_that_has_begun_moves_the_last_row(tiny_proxy: Proxy) -> None:
    blocks = tiny_proxy.encode([SHIP])
    plain, begun = (tiny_proxy.read(QUERY, blocks, answer_prefix=p) for p in ("", "It carried"))
    rows = tiny_proxy.prompt.query(QUERY, "It carried")
    assert rows[: len(tiny_proxy.prompt.query(QUERY))] == tiny_proxy.prompt.query(QUERY)
    assert tiny_proxy.tokenizer.hf.decode(rows).endswith("Answer: It carried")
    assert np.abs(plain.last - begun.last).max() > 1e-3


def test_an_answer_prefix_counts_as_text_and_against_the_window(tiny_proxy: Proxy) -> None:
    marker = tiny_proxy.tokenizer.hf.eos_token_id
    added = tiny_proxy.prompt.query(QUERY, "a<|im_end|>")[len(tiny_proxy.prompt.query(QUERY)) :]
    assert marker not in added
    with pytest.raises(InputError, match="shorten it"):
        tiny_proxy.read(QUERY, tiny_proxy.encode([SHIP]), answer_prefix="so " * 200)


def test_some_of_the_passages_read_as_if_they_stood_alone(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = Candidates(QUERY, [EMPTY, LONG, SHIP], proxy=tiny_proxy)
    _ = candidates.blocks
    monkeypatch.setattr(tiny_proxy, "encode", None)  # nothing is encoded again
    some = candidates.among([2, 1])
    monkeypatch.undo()
    alone = Candidates(QUERY, [SHIP, LONG], proxy=tiny_proxy)
    np.testing.assert_allclose(some.reading.mass, alone.reading.mass, atol=1e-6)
    assert some.reading.owners.tolist() == alone.reading.owners.tolist()
    assert some.texts == alone.texts
