"""The whole: retrieve, read, select, order, generate."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foveate.blocks.candidates import check_query
from foveate.blocks.conversation import standalone
from foveate.blocks.deadline import Deadline
from foveate.blocks.errors import InputError

from .engine import Engine, Options
from .prompt import Citation, cited
from .render import Style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from foveate.blocks.conversation import Query
    from foveate.blocks.passage import Passage
    from foveate.blocks.proxy import Proxy
    from foveate.compressors.base import Scorer
    from foveate.reorder.base import Orderer

    from .context import Context
    from .generators import Generator
    from .retrievers import Retriever


CONTEXT_SHARE = 0.5
"""Part of the time for an answer that its context may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What the generator said, and from what.

    Attributes:
        text: The answer.
        context: What the generator saw.
        citations: The sources that the answer names, in the order it names them.
        timings: Milliseconds: "retrieve", "context", "generate".
    """

    text: str
    context: Context
    citations: tuple[Citation, ...]
    timings: Mapping[str, float]


class Pipeline:
    """Passages from a retriever, through the engine, to a generator.

    Args:
        retriever: Finds passages; a foveate `Index(...).retriever()`, or anything with
            `retrieve(query, k)`.
        proxy: Reads them.
        compressor: The scorer that decides what stays: a registered name or a `Scorer`.
        orderer: Where passages stand: a registered name or an `Orderer`.
        generator: Answers; None for contexts alone.
        k: Passages to retrieve.
        options: Budget, tokenizer, pins, timeout and style of the contexts. Sources are numbered
            by default, so that the answer can cite them.
    """

    def __init__(
        self,
        retriever: Retriever,
        proxy: Proxy | None,
        *,
        compressor: str | Scorer = "fused",
        orderer: str | Orderer = "score",
        generator: Generator | None = None,
        k: int = 20,
        options: Options | None = None,
    ) -> None:
        self.retriever, self.generator, self.k = retriever, generator, k
        self.engine = Engine(proxy, scorer=compressor, orderer=orderer)
        self.options = options or Options(style=Style(numbered=True))

    def retrieve(self, query: Query) -> list[Passage]:
        """The passages for a question, or for the last one of a conversation, best first.

        Raises:
            EmptyQueryError: The query holds nothing visible.
        """
        query = standalone(query)
        check_query(query)
        return [hit.passage for hit in self.retriever.retrieve(query, self.k)]

    def context(self, query: Query, options: Options | None = None) -> Context:
        """What a generator should see for a query.

        Raises:
            NoPassagesError: The retriever found nothing.
        """
        return self.engine.compress(query, self.retrieve(query), options or self.options)

    def ask(
        self,
        query: Query,
        *,
        max_tokens: int = 256,
        options: Options | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Answer a query from the indexed text, with citations.

        Args:
            query: The question, or a conversation that ends with it, as OpenAI's messages.
            max_tokens: Longest answer.
            options: Other options than the pipeline's, for this call.
            timeout: Seconds until the answer is due. What is left after retrieval is shared between
                the context, which BM25 makes if the reading is late, and the generator.

        Raises:
            InputError: The query is empty, nothing was found, or there is no generator.
            GeneratorError: The generator did not answer.
            DeadlineExceededError: It did not answer in time.
        """
        generator, deadline = self._generator(), Deadline(timeout)
        context, spent = self._prepare(query, options, deadline)
        start = time.perf_counter()
        text = generator.generate(context, max_tokens=max_tokens, deadline=deadline)
        return _answer(text, context, {**spent, "generate": _since(start)})

    async def aask(
        self,
        query: Query,
        *,
        max_tokens: int = 256,
        options: Options | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """`ask` without blocking the event loop."""
        generator, deadline = self._generator(), Deadline(timeout)
        context, spent = await asyncio.to_thread(self._prepare, query, options, deadline)
        start = time.perf_counter()
        text = await generator.agenerate(context, max_tokens=max_tokens, deadline=deadline)
        return _answer(text, context, {**spent, "generate": _since(start)})

    def stream(self, query: Query, *, max_tokens: int = 256) -> tuple[Context, Iterator[str]]:
        """The context at once, and the answer piece by piece."""
        generator = self._generator()
        context = self.context(query)
        return context, generator.stream(context, max_tokens=max_tokens)

    def ask_batch(self, queries: Iterable[Query], *, max_tokens: int = 256) -> list[Answer]:
        """`ask` for many queries; passages that they share are read once."""
        return [self.ask(query, max_tokens=max_tokens) for query in queries]

    def _prepare(
        self, query: Query, options: Options | None, deadline: Deadline
    ) -> tuple[Context, dict[str, float]]:
        start = time.perf_counter()
        passages = self.retrieve(query)
        retrieve = _since(start)
        start = time.perf_counter()
        options = options or self.options
        left = deadline.left()
        if left is not None:
            most = left * CONTEXT_SHARE
            options = replace(options, timeout=min(most, options.timeout or most))
        context = self.engine.compress(query, passages, options)
        return context, {"retrieve": retrieve, "context": _since(start)}

    def _generator(self) -> Generator:
        if self.generator is None:
            raise InputError("this pipeline has no generator; pass generator=... or use .context()")
        return self.generator


def _answer(text: str, context: Context, timings: Mapping[str, float]) -> Answer:
    return Answer(text, context, cited(text, context), timings)


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
