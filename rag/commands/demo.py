"""`foveate demo`: what Foveate does, on text that every machine has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .ask import source_name
from .console import note, progress, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveate.rag.demo import Round

    Span = tuple[str, str]
    Line = list[Span]

TITLE, UNIT = 30, 70  # columns
NUMBERS = 12
"""Places of an order that are shown."""

Out = Annotated[Path, typer.Option(help="The page to write.")]
Quick = Annotated[bool, typer.Option("--quick", help="One question, and an index without vectors.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Make the index anew.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(demo)


def demo(out: Out = Path("out/demo.html"), quick: Quick = False, fresh: Fresh = False) -> None:
    """Ask questions about Python of the documentation that comes with Python.

    The first run indexes it, in a minute or two; the next ones find the index made.
    """
    start = time.monotonic()
    from foveate.rag import demo as show
    from foveate.rag.api import load_proxy

    note("loading the model that reads")
    proxy = load_proxy()
    folder = show.index_folder(lexical=quick)
    note(f"opening the index of Python's own documentation; the first time, making it in {folder}")
    with progress() as report:
        index = show.open_index(
            folder, embedder=None if quick else "minilm", fresh=fresh, progress=report
        )
    questions = show.QUESTIONS[:1] if quick else show.QUESTIONS
    rounds = []
    with index:
        intro = show.about(index)
        _print([[(intro, "dim")]])
        pipeline = show.pipeline_for(index.retriever(), proxy)
        for number, question in enumerate(questions, start=1):
            note(f"question {number} of {len(questions)}: retrieve, read, choose, answer")
            rounds.append(show.ask(pipeline, question))
            _print(_account(rounds[-1]))
    write_file(out, show.page(rounds, intro))
    _print([[], [(f"{time.monotonic() - start:.0f} s in all. The report: ", "dim")]])
    typer.echo(out)


def _account(each: Round) -> Iterator[Line]:
    cold = each.cold
    yield []
    yield [(cold.query, "bold")]
    yield _row("retrieved", f"{len(cold.passages)} passages, {len(cold.pieces)} units")
    yield _row("kept", f"{len(cold.order)} passages, {len(cold.kept)} units")
    yield _row(
        "tokens", f"{cold.tokens_before:,} → {cold.tokens_after:,}", f" of {cold.limit:,} allowed"
    )
    yield _row("order", f"{_numbers(range(len(cold.passages)))} → {_numbers(cold.order)}")
    yield from _times(each)
    if cold.degraded:
        yield [(f"degraded: {cold.degraded_reason}", "red")]
    yield from _best(each)
    yield from _answer(each)


def _row(name: str, value: str, more: str = "") -> Line:
    return [(f"  {name:<10}", "dim"), (value, "cyan"), (more, "dim")]


def _numbers(order: Iterator[int] | range | tuple[int, ...]) -> str:
    shown = [str(place + 1) for place in order]
    return " ".join(shown[:NUMBERS]) + (" …" if len(shown) > NUMBERS else "")


def _times(each: Round) -> Iterator[Line]:
    cold, warm = (run["total"] for run in each.runs().values())
    spent = each.answer.timings
    yield _row("context", f"{cold:,.0f} ms with new passages, {warm:,.0f} ms with known ones")
    yield _row(
        "the rest",
        f"retrieved in {spent['retrieve']:,.0f} ms, answered in {spent['generate']:,.0f} ms",
    )


def _best(each: Round) -> Iterator[Line]:
    from foveate.rag._view import clip

    yield [("  best units", "dim")]
    for piece in each.best():
        title = each.cold.passages[piece.passage].title
        yield [
            (f"    {piece.score:.2f} ", "yellow"),
            (f"[{piece.passage + 1}] {clip(title, TITLE)}: ", "cyan"),
            (clip(each.cold.piece_text(piece), UNIT), ""),
        ]


def _answer(each: Round) -> Iterator[Line]:
    yield [("  answer of the small model, cut off where it gets long", "dim")]
    for line in each.answer.text.strip().splitlines() or ["(none)"]:
        yield [(f"    {line}", "")]
    if not each.answer.citations:
        yield [("    (it cites no source)", "dim")]
    for citation in each.answer.citations:
        name = source_name(citation, each.cold)
        yield [(f"    [{citation.number}] ", "cyan"), (name, "dim")]


def _print(lines: Iterator[Line] | list[Line]) -> None:
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:  # plain will do
        for line in lines:
            typer.echo("".join(text for text, _ in line))
        return
    console = Console()
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=not console.is_terminal)
