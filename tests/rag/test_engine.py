from __future__ import annotations

import asyncio
import copy
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foveate import Adaptive, Engine, Options, Passage, Style
from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.errors import (
    BudgetError,
    EmptyQueryError,
    InputError,
    ModelNotFoundError,
    NoPassagesError,
    NotTrainedError,
    UnknownNameError,
)
from foveate.compressors import SCORERS, Scorer
from foveate.compressors.embedding import minilm_folder
from foveate.compressors.probes import find
from foveate.reorder import ORDERERS, Orderer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

HARBOUR = Passage(
    "The harbour froze in March 1947. Ships waited outside for nine days. "
    "The mayor wrote a letter.",
    "harbour",
    "Harbour",
    {"source": "log.txt"},
)
STORMS = Passage("Storms came in the autumn. Masts broke on the pier. Nobody was hurt.", "storms")
TABLE = Passage("| Year | Ice |\n|---|---|\n| 1946 | 3 |\n| 1947 | 41 |\n", "table", "Ice days")
PASSAGES = [HARBOUR, STORMS, TABLE]
QUERY = "When did the harbour freeze?"


def words(text: str) -> int:
    return len(text.split())


def characters(text: str) -> int:
    return len(text)


class Broken(Scorer):
    name = "broken"

    def score(self, candidates: Candidates) -> Scores:
        raise RuntimeError("the device fell off the bus")


class Stuck(Scorer):
    """Never answers until it is let go: a device that hangs."""

    name = "stuck"

    def __init__(self) -> None:
        self.release = threading.Event()

    def score(self, candidates: Candidates) -> Scores:
        self.release.wait()
        raise AssertionError("nobody waits for this")


def _minilm_is_missing() -> bool:
    try:
        minilm_folder()
    except ModelNotFoundError:
        return True
    return False


@pytest.fixture
def trained_proxy(
    tiny_proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Proxy]:
    """A proxy with weights for every method that needs some."""
    from foveate.compressors import sentinel
    from foveate.compressors.every_head import all_heads
    from foveate.compressors.logistic import Logistic
    from foveate.compressors.probes import Probe

    if not _minilm_is_missing():  # the new home holds no models
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / "minilm").symlink_to(minilm_folder())
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    heads = all_heads(tiny_proxy)
    model = Logistic(dict.fromkeys(sentinel.feature_names(heads), 0.1), -1.0)
    probe = Probe("tiny", tiny_proxy.fingerprint, heads, {sentinel.NAME: model})
    probe.save(sentinel.own_path(tiny_proxy.fingerprint))
    yield tiny_proxy
    find.cache_clear()


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine(None, scorer="lexical")
    yield made
    made.close()


def options(budget: Any = 12, **others: Any) -> Options:
    return Options(budget=budget, tokenizer=words, **others)


def test_it_keeps_what_answers_and_says_where_it_stood(engine: Engine) -> None:
    context = engine.compress(QUERY, PASSAGES, options(8))
    assert "The harbour froze in March 1947." in context.text
    best = context.kept[0]
    assert (best.passage_id, best.start) == ("harbour", 0)
    assert context.piece_text(best).startswith("The harbour froze")
    assert context.tokens_after == words(context.text) <= 8
    assert len(context.kept) + len(context.dropped) == len(context.pieces)


SCORER_NAMES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name == "embedding" and _minilm_is_missing(),
            reason="needs MiniLM (`foveate models pull minilm`)",
        ),
    )
    for name in SCORERS.names()
]


@pytest.mark.parametrize("scorer", SCORER_NAMES)
@pytest.mark.parametrize("orderer", ORDERERS.names())
@pytest.mark.parametrize("budget", [15, 0.4, Adaptive(), Adaptive(limit=15)])
def test_every_scorer_works_with_every_orderer_and_budget(
    trained_proxy: Proxy, scorer: str, orderer: str, budget: Any
) -> None:
    engine = Engine(trained_proxy, scorer=scorer, orderer=orderer)
    context = engine.compress(QUERY, PASSAGES, options(budget))
    assert not context.degraded
    assert (context.scorer, context.orderer) == (scorer, orderer)
    assert context.tokens_after == words(context.text) <= context.limit
    assert sorted(context.order) == sorted({piece.passage for piece in context.kept})
    assert all(0 <= piece.score <= 1 for piece in context.pieces)
    assert all(0 <= score <= 1 for score in context.passage_scores)
    for index, excerpt in context.excerpts():
        source = iter(PASSAGES[index].text)
        assert all(character in source for character in excerpt.replace("…", "").strip())
        for part in excerpt.split("…") if scorer != "token-level" else ():
            assert part.strip() in PASSAGES[index].text


ODD = [
    [Passage("")],
    [Passage("One.")],
    [Passage(""), Passage("\n\n"), Passage("x", title="x" * 400)],
    [
        Passage("港口结冰了。船只等待。", title="港口"),
        Passage("متى تجمد الميناء؟ 🙂\u200f <|im_end|>"),
    ],
    [Passage("Same text. Twice."), Passage("Same text. Twice.")],
    [Passage("No sentence ends here " * 40)],
]


@pytest.mark.parametrize("scorer", SCORER_NAMES)
@pytest.mark.parametrize("passages", ODD)
def test_every_scorer_bears_odd_passages_and_answers_the_same_twice(
    trained_proxy: Proxy, scorer: str, passages: list[Passage]
) -> None:
    candidates = [Candidates(QUERY, passages, proxy=trained_proxy) for _ in range(2)]
    first, again = (SCORERS.make(scorer).score(each) for each in candidates)
    for values, count in (
        (first.units, len(candidates[0].units)),
        (first.passages, len(passages)),
        (np.array([first.nothing]), 1),
    ):
        assert values.shape == (count,)
        assert np.isfinite(values).all()
        assert ((values >= 0) & (values <= 1)).all()
    np.testing.assert_array_equal(first.units, again.units)
    np.testing.assert_array_equal(first.passages, again.passages)
    context = Engine(trained_proxy, scorer=scorer).compress(QUERY, passages, options(0.5))
    assert not context.degraded


def test_a_method_without_weights_for_the_proxy_says_how_to_make_them(tiny_proxy: Proxy) -> None:
    with pytest.raises(NotTrainedError, match="foveate train-probe"):
        Engine(tiny_proxy, scorer="sentinel").compress(QUERY, PASSAGES, options(8))


def test_a_method_that_reads_in_its_own_way_is_spared_the_shared_reading(
    trained_proxy: Proxy,
) -> None:
    context = Engine(trained_proxy, scorer="sentinel").compress(QUERY, PASSAGES, options(8))
    assert not {"encode", "read"} & set(context.timings)
    shared = Engine(trained_proxy, scorer="sentinel", orderer="attention-sorting")
    assert "read" in shared.compress(QUERY, PASSAGES, options(8)).timings


texts = st.lists(st.text(min_size=0, max_size=80), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, st.integers(1, 60), st.booleans(), st.booleans())
def test_no_text_and_no_budget_lead_over_the_limit(
    engine: Engine, sources: list[str], budget: int, numbered: bool, titled: bool
) -> None:
    passages = [Passage(text, title=text[:5] if titled else "") for text in sources]
    asked = Options(budget=budget, tokenizer=characters, style=Style(numbered=numbered))
    context = engine.compress("any question", passages, asked)
    assert len(context.text) == context.tokens_after <= budget
    assert context.tokens_after <= context.tokens_before
    tiled = [
        "".join(context.piece_text(p) for p in context.pieces if p.passage == i)
        for i in range(len(sources))
    ]
    assert tiled == sources


@pytest.mark.parametrize("budget", [1.0, 10_000])
def test_a_budget_that_holds_everything_returns_it_unchanged(engine: Engine, budget: Any) -> None:
    context = engine.compress(QUERY, [STORMS], options(budget))
    assert context.text == STORMS.text
    assert context.ratio == 1.0
    assert {piece.reason for piece in context.pieces} == {"all fits"}


def test_a_table_row_comes_with_its_header(engine: Engine) -> None:
    context = engine.compress("ice days 1947", [TABLE, STORMS], options(0.5))
    rows = [context.piece_text(piece) for piece in context.kept]
    assert any("1947" in row for row in rows)
    assert any("Year" in row for row in rows)


def test_pins_stay_by_passage_and_by_span(engine: Engine) -> None:
    whole = engine.compress(QUERY, PASSAGES, options(16, pins=["storms"]))
    assert "Nobody was hurt." in whole.text
    span = engine.compress(QUERY, PASSAGES, options(6, pins=[("storms", 30, 35)]))
    assert "Masts broke on the pier." in span.text
    assert "Nobody" not in span.text
    assert {p.reason for p in span.kept if p.passage_id == "storms"} == {"pinned"}


def test_pins_that_do_not_fit_and_pins_that_name_nothing_are_refused(engine: Engine) -> None:
    with pytest.raises(BudgetError, match="takes 13 tokens and does not fit into 3"):
        engine.compress(QUERY, PASSAGES, options(3, pins=["storms"]))
    with pytest.raises(InputError, match="names no passage; passage ids are: harbour, storms"):
        engine.compress(QUERY, PASSAGES, options(pins=["nowhere"]))


@pytest.mark.parametrize(
    ("query", "passages", "changes", "error"),
    [
        ("", PASSAGES, {}, EmptyQueryError),
        (" \n", PASSAGES, {}, EmptyQueryError),
        (QUERY, [], {}, NoPassagesError),
        (QUERY, "one string", {}, InputError),
        (QUERY, [42], {}, InputError),
        (QUERY, [{"body": "no text"}], {}, InputError),
        (QUERY, PASSAGES, {"budget": 0}, BudgetError),
        (QUERY, PASSAGES, {"budget": -3}, BudgetError),
        (QUERY, PASSAGES, {"scorer": "best"}, UnknownNameError),
        (QUERY, PASSAGES, {"orderer": "best"}, UnknownNameError),
        (QUERY, PASSAGES, {"tokenizer": "no-such-encoding"}, UnknownNameError),
        (QUERY, PASSAGES, {"tokenizer": 3}, InputError),
        (QUERY, PASSAGES, {"tokenizer": None}, InputError),
    ],
)
def test_bad_input_is_refused_by_a_typed_error(
    engine: Engine, query: str, passages: Any, changes: dict[str, Any], error: type[Exception]
) -> None:
    names = {key: changes.pop(key) for key in ("scorer", "orderer") if key in changes}
    asked = Options(**{"budget": 12, "tokenizer": words, **changes})
    with pytest.raises(error):
        engine.compress(query, passages, asked, **names)


def test_a_fault_degrades_to_bm25_within_the_same_budget(tiny_proxy: Proxy) -> None:
    context = Engine(tiny_proxy, scorer=Broken()).compress(QUERY, PASSAGES, options(8))
    plain = Engine(None, scorer="lexical").compress(QUERY, PASSAGES, options(8))
    assert context.degraded
    assert context.degraded_reason == "RuntimeError: the device fell off the bus"
    assert (context.text, context.scorer) == (plain.text, "lexical")


def test_a_proxy_that_fails_while_reading_degrades_too(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("out of memory")

    monkeypatch.setattr(tiny_proxy.model.base_model, "forward", fail)
    engine = Engine(tiny_proxy, orderer="attention-sorting")
    context = engine.compress(QUERY, PASSAGES, options(8))
    assert context.degraded
    assert "out of memory" in context.degraded_reason
    assert (context.scorer, context.orderer) == ("lexical", "original")


def test_past_a_deadline_bm25_answers(tiny_proxy: Proxy) -> None:
    stuck = Stuck()
    engine = Engine(tiny_proxy, scorer=stuck)
    context = engine.compress(QUERY, PASSAGES, options(8, timeout=0.2))
    stuck.release.set()
    engine.close()
    assert context.degraded
    assert "not done within 0.2 s" in context.degraded_reason
    assert "The harbour froze" in context.text


def test_a_deadline_that_is_met_changes_nothing(tiny_proxy: Proxy) -> None:
    engine = Engine(tiny_proxy)
    timed = engine.compress(QUERY, PASSAGES, options(8, timeout=60.0))
    free = engine.compress(QUERY, PASSAGES, options(8))
    engine.close()
    assert not timed.degraded
    assert timed.text == free.text


def test_the_callers_objects_come_back_untouched(tiny_proxy: Proxy) -> None:
    before = copy.deepcopy(PASSAGES)
    context = Engine(tiny_proxy, orderer="score").compress(QUERY, PASSAGES, options(8))
    assert before == PASSAGES
    assert context.passages == tuple(PASSAGES)
    assert context.passages[0].metadata is HARBOUR.metadata


def test_async_and_batch_give_what_sync_gives(tiny_proxy: Proxy) -> None:
    engine = Engine(tiny_proxy)
    alone = engine.compress(QUERY, PASSAGES, options(8))
    awaited = asyncio.run(engine.acompress(QUERY, PASSAGES, options(8)))
    batch = engine.compress_batch([(QUERY, PASSAGES), ("Who wrote?", PASSAGES)], options(8))
    assert alone.text == awaited.text == batch[0].text
    assert batch[1].query == "Who wrote?"


def test_a_lexical_request_never_wakes_the_proxy(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny_proxy, "encode", None)
    context = Engine(tiny_proxy, scorer="lexical").compress(QUERY, PASSAGES, options(8))
    assert not context.degraded
    assert "encode" not in context.timings


def test_random_is_the_same_for_the_same_seed(engine: Engine) -> None:
    from foveate.compressors.random import Random

    first, again = (
        engine.compress(QUERY, PASSAGES, options(8), scorer=Random(7)).text for _ in range(2)
    )
    assert first == again


def test_the_line_that_a_context_prints(engine: Engine) -> None:
    line = repr(engine.compress(QUERY, PASSAGES, options(8)))
    assert line.startswith("Context(1 of 3 passages, ")
    assert " tokens, " in line
    assert line.endswith(" ms)")


@pytest.mark.parametrize("tokenizer", ["tiny", "function"])
def test_the_budget_holds_in_the_callers_tokenizer(
    engine: Engine, tiny_tokenizer: Any, tokenizer: str
) -> None:
    chosen = tiny_tokenizer if tokenizer == "tiny" else characters
    context = engine.compress(QUERY, PASSAGES, Options(budget=60, tokenizer=chosen))
    assert context.tokens_after <= 60
    assert len(context.text.encode() if tokenizer == "tiny" else context.text) <= 60


@pytest.mark.model
def test_the_default_proxy_keeps_the_sentences_that_answer(default_proxy: Proxy) -> None:
    context = Engine(default_proxy).compress(QUERY, PASSAGES, Options(budget=0.3))
    assert "The harbour froze in March 1947." in context.text
    assert "Nobody was hurt" not in context.text
    assert context.tokens_after == default_proxy.count_tokens(context.text) <= context.limit
    assert context.scorer == "fused"


def test_pins_that_just_fit_are_taken(engine: Engine) -> None:
    sources = ["One two three. Four five six.", "Seven eight nine."]
    context = engine.compress("seven", sources, options(6, pins=["1"]))
    assert context.text == sources[0]


@pytest.mark.parametrize("pin", [("storms", 3), ("storms", 5, 2), ("storms", 900, 950), 7])
def test_a_pin_that_is_none_is_refused(engine: Engine, pin: Any) -> None:
    with pytest.raises(InputError, match="pin"):
        engine.compress(QUERY, PASSAGES, options(pins=[pin]))


@pytest.mark.parametrize("timeout", ["5", -1, True])
def test_a_timeout_that_is_none_is_refused(engine: Engine, timeout: Any) -> None:
    with pytest.raises(InputError, match="timeout"):
        engine.compress(QUERY, PASSAGES, options(timeout=timeout))


class Forgetful(Orderer):
    name = "forgetful"

    def order(self, candidates: Candidates, scores: Scores) -> list[int]:
        return [0]


class Short(Scorer):
    name = "short"
    reads = False

    def score(self, candidates: Candidates) -> Scores:
        return Scores(np.zeros(1), np.zeros(1), 0.0)


@pytest.mark.parametrize("part", [{"orderer": Forgetful()}, {"scorer": Short()}])
def test_a_method_that_breaks_its_contract_degrades_and_loses_nothing(
    engine: Engine, part: dict[str, Any]
) -> None:
    context = engine.compress(QUERY, PASSAGES, options(20), **part)
    assert context.degraded
    assert sorted(context.order) == sorted({piece.passage for piece in context.kept})


def test_a_lexical_request_does_not_wait_behind_a_stuck_reading(tiny_proxy: Proxy) -> None:
    stuck = Stuck()
    engine = Engine(tiny_proxy)
    engine.compress(QUERY, PASSAGES, options(8, timeout=0.1), scorer=stuck)
    quick = engine.compress(QUERY, PASSAGES, options(8, timeout=30.0), scorer="lexical")
    stuck.release.set()
    engine.close()
    assert not quick.degraded


def test_white_space_counts_and_costs_no_more_than_a_few_attempts() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text)

    engine = Engine(None, scorer="lexical")
    source = ("Word one two three." + "\n" * 60) * 200
    context = engine.compress("word", [source], Options(budget=0.5, tokenizer=count))
    assert len(context.text) <= context.limit
    assert len(context.text) > 0.95 * context.limit
    assert sum(size > 1000 for size in counted) < 10


def test_a_dropped_unit_says_whether_it_was_too_long_or_too_little_relevant(
    engine: Engine,
) -> None:
    long = "The harbour froze and the harbour froze again and again until the harbour was full. "
    context = engine.compress("harbour froze", [long + "Ice came. Bread rose."], options(5))
    reasons = {context.piece_text(p).split()[0]: p.reason for p in context.dropped}
    assert reasons["The"] == "longer than the budget allows"
    assert set(reasons.values()) == {
        "longer than the budget allows",
        "says next to nothing, and what is relevant does not fit",
    }


def test_the_best_unit_stays_without_its_title_if_there_is_no_room_for_both(
    engine: Engine,
) -> None:
    best = Passage("The harbour froze in March.", "h", "A long title of many words")
    context = engine.compress("harbour froze", [best, "Bread rose. Ice came."], options(6))
    assert context.text == best.text
    assert context.untitled == {0}
    assert context.title(0) == ""


def test_ids_that_are_zero_or_taken_stay_apart(engine: Engine) -> None:
    context = engine.compress(QUERY, [{"id": 0, "text": "A."}, Passage("B.", "3"), "C."], options())
    assert [passage.id for passage in context.passages] == ["0", "3", "3'"]


@pytest.mark.parametrize("name", ["retrieval_heads", "retrieval-heads"])
def test_names_take_underscores_for_dashes(name: str) -> None:
    assert SCORERS.make(name).name == "retrieval-heads"


@pytest.mark.parametrize("scorer", [42, Broken])
def test_what_is_no_scorer_is_refused(scorer: Any) -> None:
    with pytest.raises(InputError, match="give a name"):
        Engine(None, scorer=scorer)


def test_a_conversation_is_read_by_its_last_question_and_what_that_refers_to() -> None:
    talk = [
        {"role": "user", "content": "When did the harbour freeze?"},
        {"role": "assistant", "content": "In March 1947."},
        {"role": "user", "content": "How long was it?"},
    ]
    engine = Engine(None, scorer="lexical")
    context = engine.compress(talk, PASSAGES, options(8))
    assert context.query == "When did the harbour freeze?\nMarch 1947\nHow long was it?"
    assert "The harbour froze" in context.text
    (batched,) = engine.compress_batch([(talk, PASSAGES)], options(8))
    assert batched.text == context.text


def test_a_context_says_whether_anything_relevant_was_found(engine: Engine) -> None:
    lexical = Engine(None, scorer="lexical")
    found = lexical.compress("harbour", PASSAGES, options(8))
    assert not found.nothing_relevant
    assert found.confidence == 1.0
    lost = lexical.compress("xyzzy", PASSAGES, options(8))
    assert lost.nothing_relevant
    assert lost.to_dict()["nothing_relevant"] is True
    assert lost.to_dict()["confidence"] == 0.0
