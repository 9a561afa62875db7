"""Options that several commands take, and what they become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import budget_of

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy
    from foveate.rag.engine import Engine, Options

IndexFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The index folder.", show_default=False)
]
BudgetText = Annotated[
    str,
    typer.Option(
        "--budget",
        "-b",
        help="Tokens (800), a share of the input (0.3), or 'adaptive'.",
        metavar="N",
    ),
]
Scorer = Annotated[str, typer.Option(help="What decides: fused, retrieval-heads, lexical.")]
Orderer = Annotated[
    str, typer.Option(help="Order of passages: original, score, ends-first, attention-sorting.")
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        help="tiktoken name that counts tokens (o200k_base); else the proxy's own counts."
    ),
]
ProxyName = Annotated[
    str,
    typer.Option("--proxy", help="What reads: a name, a folder, a GGUF file or a Hugging Face id."),
]
Timeout = Annotated[
    float | None, typer.Option(help="Seconds to read in; later, BM25 decides.", metavar="S", min=0)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print all there is to know, as JSON.")]
Numbered = Annotated[bool, typer.Option("--numbered", help="Put [n] before each passage.")]
NoTitles = Annotated[bool, typer.Option("--no-titles", help="Leave titles out.")]


def options_of(
    budget: str,
    *,
    tokenizer: str | None = None,
    timeout: float | None = None,
    numbered: bool = False,
    no_titles: bool = False,
) -> Options:
    """Options of the engine for what was typed.

    Raises:
        InputError: The budget or the tokenizer is none.
    """
    allowed = budget_of(budget)
    from foveate.blocks.counting import token_counter
    from foveate.rag.engine import Options
    from foveate.rag.render import Style

    count = None if tokenizer is None else token_counter(tokenizer)
    style = Style(titles=not no_titles, numbered=numbered)
    return Options(allowed, count, timeout=timeout, style=style)


def load_proxy_for(
    name: str, scorer: str, orderer: str, options: Options, *, needed: bool = False
) -> Proxy | None:
    """The proxy, or None if nothing that was asked for wakes it.

    Raises:
        UnknownNameError: There is no such scorer or orderer.
        ModelError: The proxy cannot be had.
    """
    from foveate.compressors.base import SCORERS
    from foveate.rag.api import load_proxy
    from foveate.reorder.base import ORDERERS

    reads = SCORERS.make(scorer).reads or ORDERERS.make(orderer).reads
    return load_proxy(name) if needed or reads or options.tokenizer is None else None


def engine_for(name: str, scorer: str, orderer: str, options: Options) -> Engine:
    """An engine for one command. Raises what `load_proxy_for` raises."""
    from foveate.rag.engine import Engine

    proxy = load_proxy_for(name, scorer, orderer, options)
    return Engine(proxy, scorer=scorer, orderer=orderer)


def print_json(value: Any) -> None:
    """A value as JSON on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))
