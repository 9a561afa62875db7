from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError
from foveate.blocks.head import CONTENT_FREE_QUERY
from foveate.blocks.passage import Passage
from foveate.compressors.answer_prefix import FALLBACK
from foveate.compressors.attention_rag import AttentionRAG, late_heads, top_tokens
from foveate.compressors.every_head import every_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from foveate.blocks.by_token import TokenAttention
    from foveate.blocks.proxy import Proxy

QUERY = "Who directed Jaws?"
SHIP = Passage("The ship left. It carried salt. It was old.", "ship", "Ship")
STORM = Passage("Nobody saw the storm. Masts broke. Rain fell.", "storm", "Storm")
PASSAGES = [SHIP, Passage("", "empty"), STORM]


def anchor_on(
    monkeypatch: pytest.MonkeyPatch, look: Callable[[str, TokenAttention], Any]
) -> list[tuple[str, str]]:
    """Readings whose anchor row looks as told; returns the (query, answer prefix) of each."""
    read, seen = Candidates.read, []

    def bent(self: Candidates, query: str, **options: Any) -> Any:
        seen.append((query, options["answer_prefix"]))
        reading = read(self, query, **options)
        tokens = reading.by_token
        assert tokens is not None
        last = np.broadcast_to(look(query, tokens), tokens.last.shape).astype(np.float32)
        bare = replace(tokens, last=last, last_head=np.full_like(tokens.last_head, 0.5))
        return replace(reading, by_token=bare)

    monkeypatch.setattr(Candidates, "read", bent)
    return seen


def test_sentences_that_hold_a_top_token_stand_above_all_others(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(query: str, tokens: TokenAttention) -> Any:
        # The anchor looks at one token of unit 1 and one of unit 5, and spreads a lot over unit 3.
        if query == CONTENT_FREE_QUERY:
            return np.full(len(tokens.ids), 1e-4)
        out = np.where(tokens.units == 3, 0.004, 0.001)
        for unit, much in ((1, 0.02), (5, 0.01)):
            out[np.flatnonzero(tokens.units == unit)[0]] = much
        return out

    anchor_on(monkeypatch, look)
    scores = AttentionRAG(top_share=0.01).score(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    assert np.flatnonzero(scores.units > 0.5).tolist() == [1, 5]
    assert scores.units[1] > scores.units[5]
    assert scores.units[3] == max(scores.units[u] for u in (0, 2, 3, 4))
    assert scores.passages.argmax() == 0
    assert scores.passages[1] == 0.0


def test_a_chunk_that_draws_the_anchor_less_than_no_question_does_is_dropped(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(query: str, tokens: TokenAttention) -> Any:
        ship, storm = (0.02, 0.01) if query == QUERY else (0.001, 0.02)
        return np.where(tokens.passages == 0, ship, storm)

    anchor_on(monkeypatch, look)
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    scores = AttentionRAG().score(candidates)
    assert scores.units[candidates.owners == 0].max() > 0.5
    assert (scores.units[candidates.owners == 2] < 0.5).all()
    # A lower bar lets it in again.
    wide = AttentionRAG(margin=-5.0).score(candidates)
    assert wide.units[candidates.owners == 2].max() > 0.5


def test_where_every_chunk_is_dropped_the_units_are_ranked_all_the_same(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor_on(
        monkeypatch,
        lambda query, tokens: (
            np.where(tokens.units == 4, 2.0, 1.0) * (1e-3 if query == QUERY else 1e-2)
        ),
    )
    scores = AttentionRAG().score(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    assert scores.nothing > 0.8
    assert scores.units.argmax() == 4
    assert 0 < scores.units.max() <= 0.5


def test_the_question_is_read_as_the_start_of_its_answer(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = anchor_on(monkeypatch, lambda _, tokens: np.full(len(tokens.ids), 1e-3))
    AttentionRAG().score(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    assert seen == [(QUERY, "Jaws was directed by"), (CONTENT_FREE_QUERY, FALLBACK)]


def test_passages_are_encoded_once(tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    AttentionRAG().score(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    monkeypatch.setattr(every_head(tiny_proxy), "_encode_batch", None)
    scores = AttentionRAG().score(Candidates("Who saw it?", PASSAGES, proxy=tiny_proxy))
    assert np.isfinite(scores.units).all()


def test_top_tokens_are_chosen_in_each_passage_by_itself() -> None:
    attention = np.array([9.0, 8, 7, 6, 1, 2, 1, 1, 0.5])
    passages = np.array([0, 0, 0, 0, 2, 2, 2, 2, 3])
    assert np.flatnonzero(top_tokens(attention, passages, 0.5)).tolist() == [0, 1, 4, 5, 8]
    assert np.flatnonzero(top_tokens(attention, passages, 0.01)).tolist() == [0, 5, 8]


@pytest.mark.parametrize(("layers", "chosen"), [(30, range(20, 27)), (4, [3]), (2, [1]), (1, [0])])
def test_the_heads_that_count_lie_late(layers: int, chosen: Any) -> None:
    heads = [(layer, head) for layer in range(layers) for head in range(3)]
    assert sorted({heads[place][0] for place in late_heads(heads)}) == list(chosen)


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="top_share"):
        AttentionRAG(top_share=share)
