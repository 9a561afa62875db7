"""`foveate compress` and `foveate explain`: from files to a context, and why it is what it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import note_degraded, note_empty, write_file
from .inputs import read_passages
from .naming import Naming
from .options import (
    AsJson,
    BudgetText,
    Keep,
    NoTitles,
    Numbered,
    Orderer,
    ProxyName,
    Scorer,
    Timeout,
    Tokenizer,
    engine_for,
    options_of,
    print_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.rag.context import Context
    from foveate.rag.engine import Options

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE",
        help="Text, Markdown, HTML, PDF, JSON lines, or folders; '-' or none is standard input.",
        show_default=False,
    ),
]
Query = Annotated[str, typer.Option("--query", "-q", help="The question.", show_default=False)]
ChunkTokens = Annotated[
    int | None,
    typer.Option("--chunk", min=1, metavar="TOKENS", help="Cut documents into passages this long."),
]
Html = Annotated[Path | None, typer.Option(metavar="OUT", help="Write a page to look at instead.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(cls=Naming)(compress)
    app.command(cls=Naming)(explain)


def compress(
    query: Query,
    files: Files = None,
    budget: BudgetText = "0.5",
    scorer: Scorer = "fused",
    orderer: Orderer = "original",
    tokenizer: Tokenizer = None,
    proxy: ProxyName = "default",
    timeout: Timeout = None,
    chunk: ChunkTokens = None,
    numbered: Numbered = False,
    no_titles: NoTitles = False,
    keep: Keep = None,
    as_json: AsJson = False,
) -> None:
    """Cut texts down to what a question needs, verbatim, within a budget.

    A file is a passage; in JSON lines ("text", and if you like "id" and "title") each line is one.
    Standard input is one passage, or JSON lines.
    """
    options = options_of(
        budget,
        tokenizer=tokenizer,
        timeout=timeout,
        numbered=numbered,
        no_titles=no_titles,
        keep=keep or (),
    )
    context = _context(query, files or (), options, scorer, orderer, proxy, chunk)
    if as_json:
        print_json(context.to_dict())
    elif context.text:
        typer.echo(context.text)


def explain(
    query: Query,
    files: Files = None,
    budget: BudgetText = "0.5",
    scorer: Scorer = "fused",
    orderer: Orderer = "original",
    tokenizer: Tokenizer = None,
    proxy: ProxyName = "default",
    timeout: Timeout = None,
    chunk: ChunkTokens = None,
    keep: Keep = None,
    html: Html = None,
) -> None:
    """Show what is kept and what is dropped, with scores, in colour or as a page."""
    options = options_of(budget, tokenizer=tokenizer, timeout=timeout, keep=keep or ())
    context = _context(query, files or (), options, scorer, orderer, proxy, chunk)
    if html is None:
        context.show()
        return
    write_file(html, context.to_html())
    typer.echo(html)


def _context(
    query: str,
    files: Sequence[str],
    options: Options,
    scorer: str,
    orderer: str,
    proxy: str,
    chunk: int | None,
) -> Context:
    from foveate.blocks.candidates import check_query

    check_query(query)
    passages = read_passages(files, chunk_tokens=chunk)
    engine, options = engine_for(proxy, scorer, orderer, options)
    context = engine.compress(query, passages, options)
    note_degraded(context)
    note_empty(context)
    return context
