from __future__ import annotations

import asyncio
import copy
import importlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from pydantic import ValidationError

from foveate.blocks.errors import (
    BudgetError,
    EmptyQueryError,
    InputError,
    MissingExtraError,
    UnknownNameError,
)
from foveate.compressors.base import Scorer
from foveate.compressors.budget import Adaptive
from foveate.rag.engine import Engine
from foveate.rag.langchain import FoveateCompressor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveate.blocks.candidates import Candidates, Scores

QUERY = "When was the bridge opened?"
BRIDGE = "A storm felled the first. The bridge was opened in 1887. Trains still use it."
FERRY = "Ferries ran until 1966. The bridge ended them."
CARDS = "Hands are dealt clockwise. Four people play."


def words(text: str) -> int:
    return len(text.split())


def documents() -> list[Document]:
    return [
        Document(FERRY, id="ferry", metadata={"source": "a.txt", "nested": {"page": 1}}),
        Document(BRIDGE, metadata={"title": "The Tay"}),
        Document(CARDS, id="cards"),
    ]


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine(None, scorer="lexical", orderer="score")
    yield made
    made.close()


def compressor(engine: Engine, **fields: Any) -> FoveateCompressor:
    return FoveateCompressor(engine=engine, **{"budget": 8, "tokenizer": words, **fields})


class InMemory(BaseRetriever):
    found: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.found


def test_the_kept_text_of_all_documents_is_within_one_budget(engine: Engine) -> None:
    kept = compressor(engine).compress_documents(documents(), QUERY)
    assert words("\n\n".join(document.page_content for document in kept)) <= 8
    assert kept[0].page_content == "The bridge was opened in 1887."


def test_a_title_is_scored_but_not_put_into_the_text(engine: Engine) -> None:
    titled = [Document("It is long.", metadata={"title": "The bridge"}), Document("It is long.")]
    kept = compressor(engine, budget=1.0).compress_documents(titled, "bridge")
    scores = [document.metadata["relevance_score"] for document in kept]
    assert scores[0] > 0 == scores[1]
    assert [document.page_content for document in kept] == ["It is long."] * 2
    other = compressor(engine, budget=1.0, title_key="source").compress_documents(titled, "bridge")
    assert {document.metadata["relevance_score"] for document in other} == {0}


def test_ids_and_metadata_stay_and_everything_of_ours_is_under_one_key(engine: Engine) -> None:
    given = documents()
    kept = compressor(engine, budget=1.0).compress_documents(given, QUERY)
    assert sorted(document.id or "" for document in kept) == ["", "cards", "ferry"]
    for document in kept:
        source = given[document.metadata["foveate"]["index"]]
        added = set(document.metadata) - set(source.metadata)
        assert document.id == source.id
        assert added == {"relevance_score", "foveate"}
        assert {k: document.metadata[k] for k in source.metadata} == source.metadata


def test_spans_point_at_verbatim_text_and_the_record_is_json(engine: Engine) -> None:
    given = documents()
    for document in compressor(engine, budget=20).compress_documents(given, QUERY):
        record = document.metadata["foveate"]
        assert json.loads(json.dumps(record)) == record
        source = given[record["index"]].page_content
        parts = [source[start:end] for start, end in record["spans"]]
        assert all(part.strip() in document.page_content for part in parts)
        assert "".join(parts).split() == document.page_content.replace("…", " ").split()
        assert record["tokens_before"] == words(source)
        assert record["tokens_after"] == words(document.page_content)
        assert not record["degraded"]
        assert record["degraded_reason"] == ""


def test_the_list_is_in_context_order(engine: Engine) -> None:
    kept = compressor(engine, budget=1.0).compress_documents(documents(), QUERY)
    scores = [document.metadata["relevance_score"] for document in kept]
    assert scores == sorted(scores, reverse=True)
    assert [document.metadata["foveate"]["order"] for document in kept] == [0, 1, 2]
    assert [document.metadata["foveate"]["index"] for document in kept] == [1, 0, 2]
    original = compressor(engine, budget=1.0, orderer="original")
    again = original.compress_documents(documents(), QUERY)
    assert [document.page_content for document in again] == [FERRY, BRIDGE, CARDS]


def test_the_callers_documents_are_never_changed(engine: Engine) -> None:
    given = documents()
    before = copy.deepcopy(given)
    kept = compressor(engine).compress_documents(given, QUERY)
    kept[0].metadata["mine"] = True
    assert given == before
    assert all(document not in given for document in kept)


def test_no_documents_give_no_documents(engine: Engine) -> None:
    assert compressor(engine).compress_documents([], QUERY) == []


def test_duplicate_ids_are_kept_apart(engine: Engine) -> None:
    twins = [Document("The bridge is long.", id="x"), Document("The bridge is old.", id="x")]
    kept = compressor(engine, budget=1.0).compress_documents(twins, "bridge")
    assert [document.page_content for document in kept] == [d.page_content for d in twins]
    assert [document.id for document in kept] == ["x", "x"]


def test_top_n_leaves_the_best_in_context_order(engine: Engine) -> None:
    few = compressor(engine, budget=1.0, top_n=2, orderer="original")
    kept = few.compress_documents(documents(), QUERY)
    assert [document.page_content for document in kept] == [FERRY, BRIDGE]
    assert [document.metadata["foveate"]["order"] for document in kept] == [0, 1]


def test_pins_stay_even_before_better_documents(engine: Engine) -> None:
    pinned = compressor(engine, budget=20, pins=["cards"], top_n=1)
    (kept,) = pinned.compress_documents(documents(), QUERY)
    assert kept.page_content == CARDS
    span = compressor(engine, pins=[("cards", 0, 5)])
    texts = [document.page_content for document in span.compress_documents(documents(), QUERY)]
    assert "Hands are dealt clockwise." in texts


def test_a_pin_that_was_not_retrieved_does_nothing(engine: Engine) -> None:
    pinned = compressor(engine, pins=["elsewhere"])
    assert pinned.compress_documents(documents(), QUERY)


def test_an_adaptive_budget_may_find_that_nothing_is_relevant(engine: Engine) -> None:
    adaptive = compressor(engine, budget=Adaptive())
    assert adaptive.compress_documents(documents(), "zebra") == []


def test_it_works_inside_a_contextual_compression_retriever(engine: Engine) -> None:
    retriever = ContextualCompressionRetriever(
        base_compressor=compressor(engine), base_retriever=InMemory(found=documents())
    )
    kept = retriever.invoke(QUERY)
    assert kept[0].page_content == "The bridge was opened in 1887."
    assert asyncio.run(retriever.ainvoke(QUERY)) == kept


def test_it_is_a_step_of_a_chain(engine: Engine) -> None:
    retriever = InMemory(found=documents())
    chain = (
        RunnableParallel(query=RunnablePassthrough(), documents=retriever)
        | compressor(engine)
        | RunnableLambda(lambda kept: "\n\n".join(d.page_content for d in kept))
    )
    text = chain.invoke(QUERY)
    assert words(text) <= 8
    assert text.startswith("The bridge was opened in 1887.")


async def test_async_batch_and_sync_give_the_same(engine: Engine) -> None:
    step = compressor(engine)
    inputs = [
        {"query": q, "documents": documents(), "more": 1} for q in (QUERY, "ferries", "cards")
    ]
    expected = [step.invoke(one) for one in inputs]
    assert [await step.ainvoke(one) for one in inputs] == expected
    assert await asyncio.to_thread(step.batch, inputs) == expected
    assert await step.abatch(inputs) == expected
    assert await step.acompress_documents(documents(), QUERY) == expected[0]


def test_an_invocation_is_traced_with_its_name(engine: Engine) -> None:
    seen: list[Any] = []

    class Trace(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            seen.append((kwargs["name"], inputs["query"]))

        def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
            seen.append(outputs)

    config = {"callbacks": [Trace()]}
    kept = compressor(engine).invoke({"query": QUERY, "documents": documents()}, config)
    assert seen == [("FoveateCompressor", QUERY), kept]


@pytest.mark.parametrize(
    "given", [{}, {"query": QUERY}, {"query": 3, "documents": []}, {"query": "", "documents": "a"}]
)
def test_an_input_without_query_or_documents_says_what_it_takes(
    engine: Engine, given: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=r'give \{"query": str, "documents"'):
        compressor(engine).invoke(given)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"budget": 0}, "budget 0 is not allowed"),
        ({"budget": True}, "budget True is not allowed"),
        ({"budget": "800"}, "budget '800' is not allowed"),
        ({"budget": 1.5}, "budget 1.5 is not allowed"),
        ({"scorer": "oracle"}, "unknown scorer 'oracle'; choose one of: .*lexical"),
        ({"orderer": "alphabetic"}, "unknown orderer 'alphabetic'"),
        ({"top_n": 0}, "top_n"),
        ({"timeout": 0}, "timeout"),
        ({"bugdet": 800}, "bugdet"),
    ],
)
def test_a_bad_parameter_is_refused_when_the_compressor_is_made(
    engine: Engine, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        compressor(engine, **fields)


def test_what_only_a_call_can_tell_is_a_typed_error(engine: Engine) -> None:
    with pytest.raises(EmptyQueryError):
        compressor(engine).compress_documents(documents(), " ")
    with pytest.raises(UnknownNameError, match="gpt-0"):
        compressor(engine, tokenizer="gpt-0").compress_documents(documents(), QUERY)
    with pytest.raises(InputError, match="tokenizer"):
        compressor(engine, tokenizer=None).compress_documents(documents(), QUERY)
    with pytest.raises(BudgetError, match="pinned"):
        compressor(engine, budget=1, pins=["ferry"]).compress_documents(documents(), QUERY)


def test_a_fault_degrades_the_answer_and_says_so(engine: Engine) -> None:
    class Faulty(Scorer):
        name = "faulty"
        reads = False

        def score(self, candidates: Candidates) -> Scores:
            raise RuntimeError("out of memory")

    (kept,) = compressor(engine, scorer=Faulty(), budget=6).compress_documents(documents(), QUERY)
    assert kept.page_content == "The bridge was opened in 1887."
    assert kept.metadata["foveate"]["degraded"]
    assert "out of memory" in kept.metadata["foveate"]["degraded_reason"]


def test_without_an_engine_the_process_has_one_around_the_default_proxy(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def shared(proxy: str) -> Engine:
        asked.append(proxy)
        return engine

    monkeypatch.setattr("foveate.rag.api.default_engine", shared)
    lazy = FoveateCompressor(tokenizer=words)
    assert asked == []
    assert lazy.compress_documents(documents(), QUERY)
    assert asked == ["default"]


def test_without_langchain_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.documents", None)
    monkeypatch.delitem(sys.modules, "foveate.rag.langchain")
    with pytest.raises(MissingExtraError, match=r"langchain-core is not .*foveate\[langchain\]"):
        importlib.import_module("foveate.rag.langchain")
