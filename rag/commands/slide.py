"""`foveate slide`: what a question needs from a text of any length."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .console import note
from .inputs import STDIN
from .naming import Naming
from .options import AsJson, ProxyName, Scorer, Timeout, Tokenizer, engine_for, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE_CHARS = 65_536

Source = Annotated[
    str, typer.Argument(metavar="FILE", help="Plain text in UTF-8; '-' is standard input.")
]
Query = Annotated[str, typer.Option("--query", "-q", help="The question.", show_default=False)]
BudgetTokens = Annotated[
    int, typer.Option("--budget", "-b", min=1, metavar="TOKENS", help="Tokens that are kept.")
]
Window = Annotated[int, typer.Option(min=1, metavar="CHARS", help="Characters read at a time.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(cls=Naming)(slide)


def slide(
    query: Query,
    file: Source = STDIN,
    budget: BudgetTokens = 512,
    window: Window = 4000,
    scorer: Scorer = "fused",
    tokenizer: Tokenizer = None,
    proxy: ProxyName = "default",
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Keep what a question needs of a text of any length, read once, a window at a time."""
    from foveate.blocks.candidates import check_query
    from foveate.blocks.counting import token_counter
    from foveate.rag.engine import Options
    from foveate.rag.slide import slide as run

    check_query(query)
    count = None if tokenizer is None else token_counter(tokenizer)
    engine, options = engine_for(proxy, scorer, "original", Options(budget, count))
    found = run(
        query,
        _pieces(file),
        budget=budget,
        window=window,
        scorer=scorer,
        tokenizer=options.tokenizer,
        timeout=timeout,
        engine=engine,
    )
    if found.degraded:
        note(f"degraded: {found.degraded_reason}")
    if as_json:
        print_json(asdict(found))
    elif found.text:
        typer.echo(found.text)


def _pieces(name: str) -> Iterator[str]:
    """A text, some of it at a time, line ends as they are."""
    if name == STDIN:
        sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="")  # type: ignore[union-attr]
        yield from iter(lambda: sys.stdin.read(PIECE_CHARS), "")
        return
    with open(name, encoding="utf-8", errors="replace", newline="") as text:
        yield from iter(lambda: text.read(PIECE_CHARS), "")
