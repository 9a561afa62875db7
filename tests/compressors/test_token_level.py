from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from foveate import compress
from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage
from foveate.compressors.lexical import Lexical
from foveate.compressors.token_level import TokenLevel, worth_of_characters
from foveate.rag.engine import Engine, Options

if TYPE_CHECKING:
    from foveate import Context
    from foveate.blocks.proxy import Proxy

QUERY = "Who built the mill by the river?"
PASSAGES = [
    Passage(
        "The old mill that stands by the river was built in 1872 by Anna Berg and her brother. "
        "It was then sold to a group of people who had come there from the south of the land.",
        title="Mill",
    ),
    Passage("There is a quay in the town which is used by all of those who go to the sea.", "quay"),
    Passage("| year | owner |\n|---|---|\n| 1872 | Berg and the brother of the same |\n"),
]


def words(text: str) -> int:
    return len(text.split())


def cut(proxy: Proxy, budget: int, **options: object) -> Context:
    engine = Engine(proxy, scorer=TokenLevel(inner=Lexical()))
    return engine.compress(QUERY, PASSAGES, Options(budget, tokenizer=words, **options))  # type: ignore[arg-type]


def test_the_scores_are_those_of_the_scorer_inside(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    ours, plain = TokenLevel(inner=Lexical()).score(candidates), Lexical().score(candidates)
    np.testing.assert_array_equal(ours.units, plain.units)
    assert ours.spare
    assert not plain.spare


def test_a_character_is_worth_the_attention_that_its_token_got(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, [PASSAGES[0]], proxy=tiny_proxy)
    seen = candidates.read(QUERY, by_token=True).by_token
    assert seen is not None
    worth = worth_of_characters(candidates)[0]
    inside = seen.units >= 0  # one token a byte here
    mean = seen.mean[:, inside]
    expected = (mean / mean.sum(1, keepdims=True)).mean(0)[: len(PASSAGES[0].text)]
    np.testing.assert_allclose(worth, expected, rtol=1e-5)


def test_words_left_out_make_room_and_the_limit_holds(tiny_proxy: Proxy) -> None:
    context = cut(tiny_proxy, 14)
    assert context.tokens_after == words(context.text) <= 14
    first = next(piece for piece in context.kept if piece.passage == 0)
    assert first.spared
    assert "1872 by Anna Berg" in context.text or "1872 Anna Berg" in context.text
    whole = Engine(tiny_proxy, scorer=Lexical()).compress(
        QUERY, PASSAGES, Options(14, tokenizer=words)
    )
    assert "Berg and her brother" not in whole.text  # as a whole it does not fit


def test_the_context_says_which_characters_are_left(tiny_proxy: Proxy) -> None:
    context = cut(tiny_proxy, 20)
    shown = "".join(
        context.passages[i].text[start:end]
        for i in context.order
        for start, end in context.spans()[i]
    )
    assert "".join(shown.split()) == "".join(
        context.text.replace("…", "").replace("Mill\n", "").split()
    )
    assert [text for _, text in context.excerpts()] == [
        part.removeprefix("Mill\n") for part in context.text.split("\n\n")
    ]
    assert all(not piece.spared for piece in context.dropped)
    assert any(piece["spared"] for piece in context.to_dict()["kept"])
    assert "<s>" in context.to_html()


def test_what_must_stay_stays_whole(tiny_proxy: Proxy) -> None:
    context = cut(tiny_proxy, 45, keep=["numbers"])
    kept = [piece for piece in context.kept if "keep" in piece.reason]
    assert kept
    assert not any(piece.spared for piece in kept)


def test_what_fits_is_left_as_it_is(tiny_proxy: Proxy) -> None:
    context = cut(tiny_proxy, 500)
    assert not any(piece.spared for piece in context.pieces)


def test_tables_are_not_touched(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    spare = TokenLevel(inner=Lexical()).score(candidates).spare
    assert not any(candidates.owners[unit] == 2 for unit in spare)


@pytest.mark.model
def test_the_default_proxy_keeps_the_answer_in_fewer_tokens(default_proxy: Proxy) -> None:
    context = compress(QUERY, PASSAGES, budget=30, scorer="token-level", proxy=default_proxy)
    assert "Anna Berg" in context.text
    assert context.tokens_after <= 30
    assert not context.degraded
