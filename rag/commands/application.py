"""The application: which commands there are, and what becomes of their errors.

Exit codes: 0 all is well; 1 the work failed; 2 the command or its input cannot be used. A message
takes one line on standard error; `--debug` shows where it came from.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from foveate.blocks.errors import FoveateError, IndexNotFoundError, InputError

from . import ask, compress, demo, index, models, serve, slide, train
from .console import NAME, log_to_stderr, note, one_line

if TYPE_CHECKING:
    from io import TextIOWrapper

FAILED, UNUSABLE = 1, 2


class Commands(TyperGroup):
    """Commands whose errors end in a line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader has seen enough: typer ends it quietly
        except (FoveateError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            _fail(error)


app = typer.Typer(
    name=NAME,
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help, at once
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from foveate import __version__

        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def foveate(
    ctx: typer.Context,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error, and all that is logged."),
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Tell the version."),
    ] = False,
) -> None:
    """Decide what a generator sees: the sentences a question needs, in order, within a budget."""
    ctx.with_resource(log_to_stderr(debug=debug))


for module in (compress, slide, index, ask, models, train, serve, demo):
    module.add_to(app)


def run() -> None:
    """Run the command line of this process, and end it."""
    # What goes into a file or a pipe is UTF-8 everywhere, and no character can stop it.
    streams: list[TextIOWrapper] = [sys.stdout, sys.stderr]  # type: ignore[list-item]
    for stream in streams:
        if stream is not None:
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    app(prog_name=NAME)


def _fail(error: FoveateError | OSError) -> NoReturn:
    note(one_line(str(error) or type(error).__name__))
    raise typer.Exit(UNUSABLE if isinstance(error, InputError | IndexNotFoundError) else FAILED)
