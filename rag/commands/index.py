"""`foveate index`: files into an index on disk."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.blocks.errors import EmbedderMismatchError

from .console import progress
from .options import AsJson, IndexFolder, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foveate.blocks.passage import Passage
    from foveate.blocks.progress import Progress
    from foveate.rag.index import Index

NO_EMBEDDER = "none"

Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="Files or folders to index.", show_default=False),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Embedder of a new index, 'minilm' unless you say otherwise: a name, a folder, a "
        "Hugging Face id, or 'none' for a lexical index.",
    ),
]
ChunkTokens = Annotated[int, typer.Option(metavar="N", min=1, help="Longest passage, in tokens.")]
Delete = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Remove a passage, or all of a document; may be repeated."),
]
SkipErrors = Annotated[bool, typer.Option("--skip-errors", help="Leave unreadable files out.")]
Repair = Annotated[bool, typer.Option("--repair", help="Make damaged parts anew first.")]
Stats = Annotated[bool, typer.Option("--stats", help="Tell what the index holds.")]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(index)


def index(
    folder: IndexFolder,
    paths: Paths = None,
    embedder: EmbedderName = None,
    chunk_tokens: ChunkTokens = 200,
    delete: Delete = None,
    skip_errors: SkipErrors = False,
    repair: Repair = False,
    stats: Stats = False,
    as_json: AsJson = False,
) -> None:
    """Index files, or bring an index up to date with them.

    Each change happens whole or not at all. Files that did not change cost little.
    """
    if not (paths or delete or repair or stats):
        raise typer.BadParameter("nothing to do; give a PATH, --delete, --repair or --stats")
    told: dict[str, Any] = {}
    with progress() as report:
        if repair:
            told["mended"] = _mend(folder, report)
        with _open(folder, embedder, may_be_new=bool(paths)) as opened:
            if delete:
                told["deleted"] = _delete(opened, delete, report)
            if paths:
                passages = _passages(paths, chunk_tokens, skip_errors, report)
                told |= asdict(opened.add(passages, whole_documents=True, progress=report))
            if stats:
                told |= asdict(opened.stats())
    _tell(told, as_json=as_json)


@contextmanager
def _open(folder: Path, embedder: str | None, *, may_be_new: bool) -> Iterator[Index]:
    from foveate.rag.index import Index

    if may_be_new and not (folder.exists() and any(folder.iterdir())):
        given = None if embedder == NO_EMBEDDER else embedder or "minilm"
        was_there = folder.exists()
        # Only what this process made is undone: another may have been quicker.
        with Index.create(folder, embedder=given) as made, _undone_on_error(folder, was_there):
            yield made
        return
    lexical = embedder == NO_EMBEDDER
    with Index.open(folder, embedder=None if lexical else embedder) as opened:
        identity = opened.stats().embedder
        if lexical and identity:
            raise EmbedderMismatchError(
                f"{folder} was built with the embedder {identity.name!r}; leave --embedder out, or "
                "make another index"
            )
        yield opened


@contextmanager
def _undone_on_error(folder: Path, was_there: bool) -> Iterator[None]:
    """Leave no new index behind if it could not be filled."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if was_there:
            folder.mkdir()
        raise


def _mend(folder: Path, report: Progress) -> list[str]:
    from foveate.rag.index import Index

    return list(Index.repair(folder, progress=report))


def _delete(opened: Index, names: Sequence[str], report: Progress) -> int:
    return opened.delete(names, documents=names, progress=report)


def _passages(
    paths: Sequence[Path], chunk_tokens: int, skip_errors: bool, report: Progress
) -> Iterator[Passage]:
    from foveate.rag.chunking import chunk
    from foveate.rag.loaders import load

    for path in paths:
        for document in load(path, on_error="skip" if skip_errors else "raise", progress=report):
            yield from chunk(document, max_tokens=chunk_tokens)


def _tell(told: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        typer.echo(f"{name.replace('_', ' ')}: {_shown(value)}")


def _shown(value: Any) -> str:
    match value:
        case None:
            return "none"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(value) or "nothing"
        case dict():
            return f"{value['name']} ({value['dim']} dimensions)"
    return str(value)
