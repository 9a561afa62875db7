"""Options that several commands take, and what they become."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import note_on_terminal
from .inputs import budget_of
from .naming import ORDERERS, SCORERS

if TYPE_CHECKING:
    from collections.abc import Sequence

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
Scorer = Annotated[str, typer.Option(help=f"What decides: {SCORERS}.")]
Orderer = Annotated[str, typer.Option(help=f"Order of passages: {ORDERERS}.")]
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
ModelSource = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The model: a name, a folder, a GGUF file, a Hugging Face id.",
        show_default=False,
    ),
]
FittedTo = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help="Where to; unless you say otherwise, where Foveate finds it by itself."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print all there is to know, as JSON.")]
Numbered = Annotated[bool, typer.Option("--numbered", help="Put [n] before each passage.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="WHAT",
        help="What must stay: numbers, dates, urls, emails, code, quotes, identifiers, or "
        "/a pattern/; may be repeated.",
    ),
]
NoTitles = Annotated[bool, typer.Option("--no-titles", help="Leave titles out.")]


def options_of(
    budget: str,
    *,
    tokenizer: str | None = None,
    timeout: float | None = None,
    numbered: bool = False,
    no_titles: bool = False,
    keep: Sequence[str] = (),
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
    return Options(allowed, count, timeout=timeout, style=style, keep=tuple(keep))


def sets_named(paths: Sequence[Path]) -> str:
    """Which sets a model was fitted to, for the record."""
    from foveate.compressors.examples import digest

    return ", ".join(f"{path.name} sha256:{digest(path)}" for path in paths)


def load_proxy_for(
    name: str, scorer: str, orderer: str, options: Options, *, needed: bool = False
) -> tuple[Proxy | None, Options]:
    """The proxy, or None if nothing that was asked for wakes it; and the options, with a counter.

    Raises:
        UnknownNameError: There is no such scorer or orderer.
        ModelError: The proxy cannot be had.
    """
    from foveate.compressors.base import SCORERS
    from foveate.rag.api import load_counter, load_proxy
    from foveate.reorder.base import ORDERERS

    if needed or SCORERS.make(scorer).reads or ORDERERS.make(orderer).reads:
        note_on_terminal(f"loading the model that reads, {name}")
        return load_proxy(name), options
    if options.tokenizer is None:
        options = replace(options, tokenizer=load_counter(name))
    return None, options


def engine_for(name: str, scorer: str, orderer: str, options: Options) -> tuple[Engine, Options]:
    """An engine for one command, and the options for it. Raises what `load_proxy_for` raises."""
    from foveate.rag.engine import Engine

    proxy, options = load_proxy_for(name, scorer, orderer, options)
    return Engine(proxy, scorer=scorer, orderer=orderer), options


def print_json(value: Any) -> None:
    """A value as JSON on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))
