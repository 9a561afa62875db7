from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from foveate import Context, Options, Passage, Pipeline, Style
from foveate.blocks.errors import (
    DeadlineExceededError,
    EmptyQueryError,
    InputError,
    NoPassagesError,
)
from foveate.rag.generators import Generator, TransformersGenerator
from foveate.rag.index import Index
from foveate.rag.retrievers import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foveate.blocks.deadline import Deadline
    from foveate.blocks.proxy import Proxy

PASSAGES = [
    Passage("Storms came in the autumn. Masts broke on the pier.", "storms", "Storms"),
    Passage("The harbour froze in March 1947. Ships waited nine days.", "harbour", "Harbour"),
    Passage("Bread is baked at four. The shop opens at six.", "bread", "Bakery"),
]
QUERY = "When did the harbour freeze?"


def words(text: str) -> int:
    return len(text.split())


OPTIONS = Options(budget=14, tokenizer=words, style=Style(numbered=True))


class Listed:
    """Finds everything, in the order it was given."""

    def retrieve(self, query: str, k: int = 10) -> list[Hit]:
        return [Hit(passage, 1.0 / n, n) for n, passage in enumerate(PASSAGES[:k], start=1)]


class Quoting(Generator):
    """Answers with the source that stands first."""

    name = "quoting"

    def stream(
        self, context: Context, *, max_tokens: int = 256, deadline: Deadline | None = None
    ) -> Iterator[str]:  # type: ignore[override]
        if deadline is not None:
            deadline.check()
        yield "It says so in "
        yield f"[{context.order[0] + 1}]."


@pytest.fixture
def pipeline(tiny_proxy: Proxy) -> Pipeline:
    return Pipeline(
        Listed(), tiny_proxy, compressor="lexical", generator=Quoting(), options=OPTIONS
    )


def test_it_answers_from_what_was_found_and_cites_it(pipeline: Pipeline) -> None:
    answer = pipeline.ask(QUERY)
    assert answer.text == "It says so in [2]."
    assert [citation.passage_id for citation in answer.citations] == ["harbour"]
    assert "The harbour froze" in answer.context.text
    assert answer.context.tokens_after <= 14
    assert set(answer.timings) == {"retrieve", "context", "generate"}


def test_the_best_passage_stands_first_and_keeps_its_number(pipeline: Pipeline) -> None:
    assert pipeline.context(QUERY).text.startswith("[2] Harbour\n")


def test_async_batch_and_stream_say_the_same(pipeline: Pipeline) -> None:
    expected = pipeline.ask(QUERY).text
    assert asyncio.run(pipeline.aask(QUERY)).text == expected
    assert [answer.text for answer in pipeline.ask_batch([QUERY, QUERY])] == [expected] * 2
    context, pieces = pipeline.stream(QUERY)
    assert context.query == QUERY
    assert "".join(pieces) == expected


def test_k_bounds_what_is_retrieved(tiny_proxy: Proxy) -> None:
    pipeline = Pipeline(Listed(), tiny_proxy, k=1, options=OPTIONS)
    assert [passage.id for passage in pipeline.context(QUERY).passages] == ["storms"]


def test_a_passed_deadline_is_an_error_of_its_own(pipeline: Pipeline) -> None:
    with pytest.raises(DeadlineExceededError):
        pipeline.ask(QUERY, timeout=0.0)


def test_an_empty_query_and_a_missing_generator_are_refused(
    pipeline: Pipeline, tiny_proxy: Proxy
) -> None:
    with pytest.raises(EmptyQueryError):
        pipeline.ask(" ")
    with pytest.raises(InputError, match="no generator"):
        Pipeline(Listed(), tiny_proxy).ask(QUERY)


def test_a_retriever_that_finds_nothing_says_so(tiny_proxy: Proxy) -> None:
    class Empty:
        def retrieve(self, query: str, k: int = 10) -> list[Hit]:
            return []

    with pytest.raises(NoPassagesError):
        Pipeline(Empty(), tiny_proxy).context(QUERY)


def test_it_runs_over_an_index_on_disk_with_the_proxy_as_generator(
    tmp_path: Path, tiny_proxy: Proxy
) -> None:
    with Index.create(tmp_path / "index", embedder=None) as index:
        index.add(PASSAGES)
        pipeline = Pipeline(
            index.retriever("lexical"),
            tiny_proxy,
            generator=TransformersGenerator.from_proxy(tiny_proxy),
            options=OPTIONS,
        )
        answer = pipeline.ask(QUERY, max_tokens=3)
    assert "harbour" in {passage.id for passage in answer.context.passages}
    assert isinstance(answer.text, str)
