"""Standard error: notes, what is logged, and progress. Standard output is for results alone."""

from __future__ import annotations

import logging
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from foveate.blocks.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.progress import TaskID

    from foveate.blocks.progress import Progress
    from foveate.rag.context import Context

NAME = "foveate"
LINE_EVERY_S = 10.0
"""Seconds between lines about the work where there can be no bar."""


def note(text: str) -> None:
    """Tell something that is no result."""
    typer.echo(f"{NAME}: {text}", err=True)


def note_on_terminal(text: str) -> None:
    """Tell somebody who sits and waits what takes so long."""
    if sys.stderr.isatty():
        note(text)


def one_line(text: str) -> str:
    """A message without line breaks."""
    return " ".join(text.split())


def note_degraded(context: Context) -> None:
    """Tell that a simpler method stood in, if one did, and why; or what was left unread."""
    from foveate.rag.engine import QUERY_CUT

    if context.degraded_reason == QUERY_CUT:
        note(QUERY_CUT)
    elif context.degraded:
        note(one_line(f"degraded to {context.scorer!r}: {context.degraded_reason}"))


def note_empty(context: Context) -> None:
    """Tell that nothing is kept, if so, and why."""
    if not context.text:
        note(why_empty(context))


def why_empty(context: Context) -> str:
    """Why a context holds no text."""
    if context.limit >= context.tokens_before:  # an adaptive budget kept nothing
        return "nothing relevant was found; ask otherwise, or give a fixed --budget"
    return f"nothing relevant fits into {context.limit:,} tokens; raise --budget"


@contextmanager
def log_to_stderr(*, debug: bool) -> Iterator[None]:
    """Show warnings of Foveate as notes of a line; with `debug` all that is logged, in full."""
    logger = logging.getLogger(NAME)
    before, shown = logger.propagate, _Notes(debug)
    logger.addHandler(shown)
    logger.propagate = False
    try:
        with (
            log_level(NAME, logging.DEBUG if debug else logging.WARNING),
            # Of a degraded answer its command tells, with the reason.
            log_level(f"{NAME}.rag.engine", logging.NOTSET if debug else logging.ERROR),
        ):
            yield
    finally:
        logger.propagate = before
        logger.removeHandler(shown)


@contextmanager
def log_level(name: str, level: int) -> Iterator[None]:
    """Give a logger another level for a while."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def progress() -> Iterator[Progress]:
    """Bars if standard error is a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    with _bars() as report:
        yield report


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; folders that are missing are made.

    Raises:
        InputError: It cannot be written there.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        draft.write_text(text, encoding="utf-8", errors="replace")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


class _Notes(logging.Handler):
    """Log records as notes."""

    def __init__(self, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def emit(self, record: logging.LogRecord) -> None:
        note(self.format(record) if self._tracebacks else one_line(record.getMessage()))


class _Lines:
    """Progress as lines, for work that takes a while."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        now = time.monotonic()
        if now - self._told >= LINE_EVERY_S:
            self._told = now
            note(f"{stage} {done:,} of {total:,}" if total else f"{stage} ...")


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def report(stage: str, done: int, total: int | None, /) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=None)
            bars.update(tasks[stage], completed=done, total=total)

        yield report
