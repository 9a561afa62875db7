"""`foveate ask`: an answer from an index, with citations."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from foveate.blocks.errors import InputError

from .console import note_degraded, note_empty
from .naming import Naming
from .options import (
    AsJson,
    BudgetText,
    IndexFolder,
    Orderer,
    ProxyName,
    Scorer,
    Timeout,
    Tokenizer,
    load_proxy_for,
    options_of,
    print_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foveate.rag.context import Context
    from foveate.rag.generators import Generator
    from foveate.rag.index import Mode
    from foveate.rag.pipeline import Answer, Pipeline
    from foveate.rag.prompt import Citation

LOCAL, OPENAI = "local", "openai:"

Question = Annotated[
    list[str], typer.Argument(metavar="QUERY", help="The question.", show_default=False)
]
K = Annotated[int, typer.Option("--k", "-k", metavar="N", min=1, help="Passages to retrieve.")]
ModeName = Annotated[
    str | None,
    typer.Option(help="fused, lexical or dense retrieval; the best that the index can by default."),
]
GeneratorName = Annotated[
    str,
    typer.Option(
        metavar="WHICH",
        help="What answers: 'local' is the proxy's own weights, 'openai:MODEL' an endpoint.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Endpoint of openai:MODEL, with its /v1.")
]
MaxTokens = Annotated[int, typer.Option(metavar="N", min=1, help="Longest answer, in tokens.")]
Generate = Annotated[
    bool, typer.Option("--generate/--no-generate", help="Answer, or print the context alone.")
]
Streaming = Annotated[bool, typer.Option("--stream", help="Print the answer as it comes.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(cls=Naming)(ask)


def ask(
    folder: IndexFolder,
    query: Question,
    k: K = 20,
    budget: BudgetText = "0.5",
    mode: ModeName = None,
    scorer: Scorer = "fused",
    orderer: Orderer = "score",
    tokenizer: Tokenizer = None,
    proxy: ProxyName = "default",
    timeout: Timeout = None,
    generator: GeneratorName = LOCAL,
    base_url: BaseUrl = None,
    max_tokens: MaxTokens = 256,
    generate: Generate = True,
    stream: Streaming = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from an index, with citations.

    The proxy that reads is a small model: for answers worth reading, name an endpoint. OpenAI's own
    wants OPENAI_API_KEY.
    """
    from foveate.blocks.candidates import check_query
    from foveate.rag.index import Index
    from foveate.rag.pipeline import Pipeline

    from .grounded import Grounded

    if stream and (as_json or not generate):
        raise typer.BadParameter("--stream goes with neither --json nor --no-generate")
    question = " ".join(query)
    check_query(question)
    options = options_of(budget, tokenizer=tokenizer, timeout=timeout, numbered=True)
    local = generate and _is_local(generator)
    with Index.open(folder) as index:
        retriever = index.retriever(cast("Mode | None", mode))
        loaded, options = load_proxy_for(proxy, scorer, orderer, options, needed=local)
        pipeline = Pipeline(
            retriever, loaded, compressor=scorer, orderer=orderer, k=k, options=options
        )
        if not generate:
            _print_context(pipeline.context(question), as_json=as_json)
            return
        with _generator(generator, base_url, loaded) as answers:
            pipeline.generator = Grounded(answers)
            if stream:
                _stream(pipeline, question, max_tokens)
            else:
                _print_answer(pipeline.ask(question, max_tokens=max_tokens), as_json=as_json)


def _is_local(generator: str) -> bool:
    if generator == LOCAL:
        return True
    if not generator.removeprefix(OPENAI) or not generator.startswith(OPENAI):
        raise InputError(f"generator {generator!r} is not known; give 'local' or 'openai:MODEL'")
    return False


@contextmanager
def _generator(name: str, base_url: str | None, proxy: Any) -> Iterator[Generator]:
    from foveate.rag.generators import OpenAIGenerator, TransformersGenerator

    if _is_local(name):
        yield TransformersGenerator.from_proxy(proxy)
        return
    with closing(OpenAIGenerator(name.removeprefix(OPENAI), base_url=base_url)) as generator:
        yield generator


def _stream(pipeline: Pipeline, question: str, max_tokens: int) -> None:
    from foveate.rag.prompt import cited

    context, pieces = pipeline.stream(question, max_tokens=max_tokens)
    note_degraded(context)
    said = []
    for piece in pieces:
        said.append(piece)
        typer.echo(piece, nl=False)
    typer.echo()
    _print_sources(cited("".join(said), context), context)


def _print_context(context: Context, *, as_json: bool) -> None:
    note_degraded(context)
    note_empty(context)
    if as_json:
        print_json(context.to_dict())
    elif context.text:
        typer.echo(context.text)


def _print_answer(answer: Answer, *, as_json: bool) -> None:
    note_degraded(answer.context)
    if not as_json:
        typer.echo(answer.text.strip())
        _print_sources(answer.citations, answer.context)
        return
    print_json(
        {
            "answer": answer.text,
            "citations": [_citation(each) for each in answer.citations],
            "timings": dict(answer.timings),
            "context": answer.context.to_dict(),
        }
    )


def _print_sources(citations: Sequence[Citation], context: Context) -> None:
    if citations:
        typer.echo()
    for citation in citations:
        typer.echo(f"[{citation.number}] {source_name(citation, context)}")


def source_name(citation: Citation, context: Context) -> str:
    """What to call a cited source, and whether the generator can have had it from there."""
    if citation.index is None:
        return "(there is no such source)"
    passage = context.passages[citation.index]
    left_out = "" if citation.seen else " (left out of the context)"
    also = ", ".join(context.passages[i].id for i in citation.also)
    same = f"; some of it also in {also}" if also else ""
    return f"{passage.title or passage.id} ({passage.id}){left_out}{same}"


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "index": citation.index,
        "id": citation.passage_id,
        "places": [list(place) for place in citation.places],
        "spans": [list(span) for span in citation.spans],
        "seen": citation.seen,
        "also": list(citation.also),
    }
