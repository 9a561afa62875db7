"""Input that no one would choose: a sensible selection or a typed error, and by the deadline."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

import pytest

from foveate import Engine, Options
from foveate.rag.engine import QUERY_CUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foveate.blocks.proxy import Proxy
    from foveate.rag.context import Context

FACT = "The harbour froze in March 1947."
QUERY = "When did the harbour freeze?"
TIMEOUT_S = 2.0
SLACK_S = 10.0
"""What a busy machine may take beyond; without any deadline the reading takes minutes."""


def words(text: str) -> int:
    return len(text.split())


def prose(sentences: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def word() -> str:
        return "".join(rng.choices(letters, k=rng.randint(2, 9)))

    return " ".join(
        " ".join(word() for _ in range(rng.randint(5, 12))).capitalize() + "."
        for _ in range(sentences)
    )


@pytest.fixture
def engine(tiny_proxy: Proxy) -> Iterator[Engine]:
    made = Engine(tiny_proxy)
    yield made
    made.close()


def compress(engine: Engine, query: str, sources: Sequence[str], budget: float) -> Context:
    """The context, sound and in time."""
    start = time.monotonic()
    options = Options(budget=budget, tokenizer=words, timeout=TIMEOUT_S)
    context = engine.compress(query, sources, options)
    assert time.monotonic() - start < TIMEOUT_S + SLACK_S
    assert context.tokens_after == words(context.text) <= context.limit
    for i, source in enumerate(sources):
        pieces = [piece for piece in context.pieces if piece.passage == i]
        assert "".join(context.piece_text(piece) for piece in pieces) == source
    return context


def test_tables_of_numbers_alone_keep_the_row_that_is_asked_for(engine: Engine) -> None:
    rng = random.Random(0)
    rows = [f"{year}\t{rng.randint(0, 999)}\t{rng.random():.3f}" for year in range(1900, 2020)]
    grid = "\n".join(" ".join(str(rng.randint(10**5, 10**6)) for _ in range(8)) for _ in range(80))
    context = compress(engine, "1957", [grid, "\n".join(rows)], 0.1)
    assert rows[57] in context.text


def test_minified_json_is_cut_to_the_part_that_is_asked_for(engine: Engine) -> None:
    items = [{"id": n, "name": f"part-{n * 7919}", "price": n / 7} for n in range(600)]
    items[431]["name"] = "harbour crane"
    source = json.dumps({"items": items}, separators=(",", ":"))
    options = Options(budget=0.1, tokenizer=len, timeout=TIMEOUT_S)
    context = engine.compress("price of the harbour crane", [source], options)
    assert "harbour crane" in context.text
    assert len(context.text) <= len(source) // 10


@pytest.mark.parametrize("gap", [" ", ". "])
def test_two_megabytes_on_a_line_give_up_their_one_fact(engine: Engine, gap: str) -> None:
    noise = gap.join(prose(1, seed)[:-1] for seed in range(500))
    half = gap.join([noise] * (1_000_000 // len(noise)))
    context = compress(engine, QUERY, [f"{half}. {FACT} {half}"], 500)
    assert FACT in context.text
    assert context.degraded  # nobody can read as much in so short a time


def test_two_megabytes_without_a_break_are_no_hang(engine: Engine) -> None:
    context = compress(engine, QUERY, ["x" * 2_000_000], 500)
    assert len(context.pieces) > 1


def test_five_thousand_passages_give_up_their_one_fact(engine: Engine) -> None:
    sources = [prose(3, seed) for seed in range(5_000)]
    sources[4_321] += " " + FACT
    context = compress(engine, QUERY, sources, 500)
    assert FACT in context.text
    assert len(context.passages) == 5_000


def test_five_thousand_passages_for_a_lexical_scorer_are_no_degraded_answer(
    tiny_proxy: Proxy,
) -> None:
    sources = [prose(1, seed) for seed in range(5_000)]
    sources[17] = FACT
    lexical = Engine(tiny_proxy, scorer="lexical")
    context = compress(lexical, QUERY, sources, 100)
    lexical.close()
    assert FACT in context.text
    assert not context.degraded


def test_text_of_both_directions_stays_verbatim(engine: Engine) -> None:
    arabic = "تجمد الميناء (Harbour) في آذار 1947. "
    hebrew = "הנמל קפא במרץ 1947. \u202eabc\u202c "
    source = "Bread rose. " * 20 + arabic + hebrew + "Masts broke on the pier. " * 20
    context = compress(engine, "متى تجمد الميناء؟", [source], 0.1)
    assert arabic.strip() in context.text


def test_a_unit_longer_than_the_budget_makes_room_for_one_that_fits(engine: Engine) -> None:
    long = "harbour " + " ".join(["freeze"] * 60) + " harbour."
    context = compress(engine, QUERY, [f"{long} {FACT}"], 10)
    assert context.text == FACT


def test_nothing_that_fits_is_an_empty_context(engine: Engine) -> None:
    context = compress(engine, QUERY, [FACT], 3)
    assert context.text == ""
    assert [piece.reason for piece in context.dropped] != []


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_query_longer_than_the_window_is_read_by_its_ends(engine: Engine, place: str) -> None:
    pasted = prose(100)
    query = f"{QUERY} {pasted}" if place == "first" else f"{pasted} {QUERY}"
    options = Options(budget=12, tokenizer=words)
    context = engine.compress(query, [prose(3, 7), FACT + " Bread rose.", prose(3, 8)], options)
    assert context.query == query
    assert context.degraded
    assert context.degraded_reason == QUERY_CUT
    assert context.scorer == "fused"  # it was read
    plain = engine.compress(QUERY, [FACT], options)
    assert not plain.degraded


def test_a_query_of_two_megabytes_is_answered_in_time(engine: Engine) -> None:
    query = prose(30_000) + " " + QUERY
    context = compress(engine, query, [FACT + " Bread rose on the hill.", "Masts broke."], 8)
    assert context.degraded
    assert FACT in context.text
