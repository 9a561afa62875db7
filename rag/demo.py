"""The demo: questions about Python, answered from the documentation that comes with Python.

Real text, the default models, nothing prepared: the text is indexed at the first run, and the index
is kept for the next.
"""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.blocks.errors import StoreError
from foveate.blocks.home import home
from foveate.blocks.passage import Passage

from . import html
from .engine import Options
from .pipeline import Pipeline
from .render import Style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from foveate.blocks.progress import Progress
    from foveate.blocks.proxy import Proxy

    from .context import Context, Piece
    from .index import Index
    from .loaders.base import Document
    from .pipeline import Answer
    from .retrievers import Retriever

QUESTIONS = (
    "How can I parse JSON floats as Decimal?",
    "How do I find the n largest items?",
    "How do I get the difference of two dates?",
)
RETRIEVED = 20
BUDGET = 0.3
CHUNK_TOKENS = 180
ANSWER_TOKENS = 40
BEST = 3
"""Kept units that are shown by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One question.

    Attributes:
        answer: What came of it, passages met for the first time.
        again: The context for the same question once more, passages known.
    """

    answer: Answer
    again: Context

    @property
    def cold(self) -> Context:
        """The context that the answer was given from."""
        return self.answer.context

    def best(self) -> list[Piece]:
        """The kept units of highest score, best first."""
        return sorted(self.cold.kept, key=lambda piece: -piece.score)[:BEST]

    def runs(self) -> dict[str, dict[str, float]]:
        """Milliseconds by stage of the context, cold and warm."""
        return {"cold": dict(self.cold.timings), "warm": dict(self.again.timings)}


def index_folder(*, lexical: bool = False) -> Path:
    """Where the index is kept; another for each version of Python, whose text is another."""
    return home() / "demo" / f"index-{platform.python_version()}{'-lexical' if lexical else ''}"


def open_index(
    folder: Path,
    *,
    documents: Iterable[Document] | None = None,
    embedder: str | None = "minilm",
    fresh: bool = False,
    progress: Progress | None = None,
) -> Index:
    """The index, made if there is none that can be used.

    Args:
        folder: Where it is kept; anything else there is removed.
        documents: What it holds; the documentation of the standard library by default.
        embedder: Of its vectors; None for a lexical index.
        fresh: Make it anew.
        progress: Told how far it is.
    """
    from .index import Index

    if not fresh:
        try:
            index = Index.open(folder)
            if len(index):
                return index
            index.close()
        except StoreError:
            pass  # none there, or a damaged one: made anew below
    shutil.rmtree(folder, ignore_errors=True)
    index = Index.create(folder, embedder=embedder)
    index.add(list(_passages(documents, progress)), progress=progress)  # a list: it has an end
    return index


def pipeline_for(retriever: Retriever, proxy: Proxy) -> Pipeline:
    """The default engine at 30% of the tokens, sources numbered; the proxy's own weights answer."""
    from .generators import TransformersGenerator

    pipeline = Pipeline(
        retriever,
        proxy,
        generator=TransformersGenerator.from_proxy(proxy),
        k=RETRIEVED,
        options=Options(BUDGET, style=Style(numbered=True)),
    )
    # First calls load code and start threads: no question's time should count that.
    retriever.retrieve("warm up", 1)
    pipeline.engine.compress("warm up", [Passage("One sentence. Another sentence.")])
    return pipeline


def ask(pipeline: Pipeline, question: str) -> Round:
    """Answer a question, then build its context again."""
    answer = pipeline.ask(question, max_tokens=ANSWER_TOKENS)
    again = pipeline.engine.compress(question, answer.context.passages, pipeline.options)
    return Round(answer, again)


def about(index: Index) -> str:
    """What is asked, in a sentence."""
    return (
        f"{len(index):,} passages: the documentation that comes with Python "
        f"{platform.python_version()}, as pydoc renders it on this machine."
    )


def page(rounds: Sequence[Round], intro: str) -> str:
    """The report, as a page."""
    explained = (
        f"{intro} For each question {RETRIEVED} passages are retrieved. A small language model "
        f"reads them once, and at most {BUDGET:.0%} of their tokens stay, verbatim. The same model "
        "then answers from what stayed; with 135 million weights it reads better than it writes: "
        "judge the context, not the answer."
    )
    sections = [html.Section("", (explained,)), *(_section(each) for each in rounds)]
    return html.report("Questions about Python", sections)


def _section(each: Round) -> html.Section:
    return html.Section(
        each.cold.query,
        (
            html.Cited(
                each.answer.text.strip(),
                each.cold,
                f"Answer of the small model, at most {ANSWER_TOKENS} tokens",
            ),
            html.Timings(each.runs(), "Time for the context: passages new, passages known"),
            each.cold,
        ),
    )


def _passages(documents: Iterable[Document] | None, progress: Progress | None) -> Iterator[Passage]:
    from ._stdlib import documents as stdlib
    from .chunking import chunk

    for document in documents if documents is not None else stdlib(progress=progress):
        yield from chunk(document, max_tokens=CHUNK_TOKENS)
