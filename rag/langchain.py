"""Foveate inside LangChain: a document compressor that is also a step of a chain.

    ContextualCompressionRetriever(base_compressor=FoveateCompressor(...), base_retriever=...)
    FoveateCompressor(...).invoke({"query": ..., "documents": ...})    or ainvoke, batch, abatch

Documents are copied, never changed: `id` and metadata stay, `page_content` becomes the kept text,
the score goes to `metadata["relevance_score"]` and everything else to `metadata["foveate"]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from foveate.blocks.errors import InputError, MissingExtraError, UnknownNameError
from foveate.compressors.base import SCORERS, Scorer
from foveate.compressors.budget import Budget
from foveate.compressors.budget import check as check_budget
from foveate.reorder.base import ORDERERS, Orderer

from ._documents import excerpts, passage_of, pins_among
from .engine import Engine, Options, Pin
from .render import Style

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.runnables import RunnableSerializable
    from pydantic import ConfigDict, Field, PlainValidator, field_validator
except ImportError as error:
    raise MissingExtraError("langchain-core", "langchain") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.callbacks import Callbacks
    from langchain_core.runnables import RunnableConfig

    from .context import Context

PLAIN = Style(titles=False)
"""No headers: the budget bounds the documents' texts, joined by blank lines as chains do."""


def _checked(budget: Any) -> Any:
    check_budget(budget)
    return budget


class FoveateCompressor(
    BaseDocumentCompressor, RunnableSerializable[dict[str, Any], list[Document]]
):
    """Keeps the sentences that a query needs, of all documents together, within one token budget.

    A bad parameter is refused with a `pydantic.ValidationError` when the compressor is made, and
    with an `InputError` when only a call can tell; both are `ValueError`s. A fault of the proxy
    raises nothing: BM25 answers, and `metadata["foveate"]["degraded"]` says so.

    Example:
        ```python
        from foveate.rag.langchain import FoveateCompressor
        from langchain_classic.retrievers import ContextualCompressionRetriever

        compressor = FoveateCompressor(budget=800, tokenizer="o200k_base")
        retriever = ContextualCompressionRetriever(
            base_compressor=compressor, base_retriever=my_retriever
        )
        ```
    """

    budget: Annotated[Budget, PlainValidator(_checked, json_schema_input_type=Any)] = 0.5
    """For all documents: tokens (int), share of the input (float in (0, 1]), or `Adaptive`."""

    scorer: str | Scorer | None = None
    """What decides: a registered name or a `Scorer`; None is the engine's own."""

    orderer: str | Orderer | None = None
    """Where documents stand: a registered name or an `Orderer`; None is the engine's own."""

    top_n: int | None = Field(default=None, ge=1)
    """At most that many documents: of those that the budget kept, pinned ones and then the best."""

    tokenizer: Any = None
    """Counts tokens: tiktoken name, Hugging Face tokenizer or function; None is the proxy's own."""

    pins: tuple[Pin, ...] = ()
    """What must stay, if it was found: a document id, or (id, start, end) in characters."""

    timeout: float | None = Field(default=None, gt=0)
    """Seconds until an answer is due; past it, BM25 answers within the same budget. None waits."""

    title_key: str = "title"
    """Metadata key of a document's title, which is scored with its text but not put into it."""

    engine: Engine | None = Field(default=None, repr=False, exclude=True)
    """Does the work; None is the process's own, around the default proxy, loaded on first use."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @field_validator("scorer", "orderer")
    @classmethod
    def _known(cls, method: Any, info: Any) -> Any:
        names = (SCORERS if info.field_name == "scorer" else ORDERERS).names()
        if isinstance(method, str) and method not in names:
            raise UnknownNameError(info.field_name, method, names)
        return method

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """The documents that a generator should see, in the order in which it should see them.

        Args:
            documents: What was retrieved; left as they are.
            query: The question.
            callbacks: Taken for the interface's sake; a run is traced by `invoke`.

        Raises:
            InputError: The query, the budget, the tokenizer or a pin cannot be used.
            ModelNotFoundError: No engine was given and the default proxy is not on this machine.
        """
        if not documents:
            return []
        engine = self.engine or _default_engine()
        context = self._context(engine, documents, query)
        count = engine.counter(self.tokenizer)
        return [
            documents[excerpt.index].model_copy(
                update={
                    "page_content": excerpt.text,
                    "metadata": excerpt.metadata(documents[excerpt.index].metadata),
                }
            )
            for excerpt in excerpts(context, count, top_n=self.top_n)
        ]

    def invoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Compress `input["documents"]` for `input["query"]`; other keys are ignored."""
        return self._call_with_config(self._from_input, input, config, **kwargs)

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """`invoke` without blocking the event loop."""
        return await self._acall_with_config(self._afrom_input, input, config, **kwargs)

    def _from_input(self, input: dict[str, Any]) -> list[Document]:
        query, documents = _query_and_documents(input)
        return self.compress_documents(documents, query)

    async def _afrom_input(self, input: dict[str, Any]) -> list[Document]:
        query, documents = _query_and_documents(input)
        return list(await self.acompress_documents(documents, query))

    def _context(self, engine: Engine, documents: Sequence[Document], query: str) -> Context:
        passages = [
            passage_of(
                document.page_content,
                id=document.id,
                metadata=document.metadata,
                title_key=self.title_key,
            )
            for document in documents
        ]
        ids = {passage.id or str(n) for n, passage in enumerate(passages, start=1)}
        options = Options(
            budget=self.budget,
            tokenizer=self.tokenizer,
            pins=pins_among(self.pins, ids),
            timeout=self.timeout,
            style=PLAIN,
        )
        return engine.compress(query, passages, options, scorer=self.scorer, orderer=self.orderer)


def _query_and_documents(input: Any) -> tuple[str, Sequence[Document]]:
    match input:
        case {"query": str(query), "documents": [*documents]}:
            return query, documents
        case dict():
            given = ", ".join(f"{key}: {type(value).__name__}" for key, value in input.items())
        case _:
            given = type(input).__name__
    raise InputError(
        f"the input holds {given or 'nothing'}; give "
        '{"query": str, "documents": a list of Documents}'
    )


def _default_engine() -> Engine:
    from .api import default_engine

    return default_engine("default")
