"""`foveate train-probe` and `foveate train-reader`: fit a model to records with known evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import note, progress
from .options import FittedTo, ModelSource, sets_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.compressors.examples import Example
    from foveate.compressors.training.checkpoint import Progressed

HELD_BACK_SHARE = 0.1

Data = Annotated[
    list[Path],
    typer.Option(
        "--data",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Records with known evidence, JSON lines; may be repeated.",
    ),
]
Dev = Annotated[
    list[Path] | None,
    typer.Option(
        "--dev",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Records to choose the best moment by; else a tenth of each set.",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Keeps the features, so that a stopped run goes on."),
]
Adapter = Annotated[
    str, typer.Option(metavar="FOLDER", help="A trained reader; auto, none, or a folder.")
]
Method = Annotated[str, typer.Option(metavar="NAME", help="fused or sentinel.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Records of each set, from its first; all if not given.")
]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn.")]
Steps = Annotated[int, typer.Option(min=1, help="Records seen.")]
Rank = Annotated[int, typer.Option(min=1, help="Rank of the adapter.")]
Rate = Annotated[float, typer.Option(min=0, help="Highest learning rate.")]
Every = Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("train-probe")(train_probe)
    app.command("train-reader")(train_reader)


def train_probe(
    model: ModelSource,
    data: Data,
    out: FittedTo = None,
    method: Method = "fused",
    adapter: Adapter = "auto",
    cache: Cache = None,
    limit: Limit = None,
    seed: Seed = 0,
) -> None:
    """Fit the weights of a model's scores on records with known evidence.

    Each record is read once; its features are kept in the cache folder, so that a run that was
    stopped goes on. Needs the extra "train".
    """
    from foveate.blocks.errors import InputError
    from foveate.blocks.home import home
    from foveate.compressors import probes, sentinel
    from foveate.compressors.training import probe as fitting
    from foveate.compressors.training.sentinel import train_sentinel
    from foveate.rag.api import load_proxy

    if method not in ("fused", "sentinel"):
        raise InputError(f"method {method!r} is not fitted; give fused or sentinel")
    examples = [example for each in _sets(data) for example in each[:limit]]
    proxy = load_proxy(model, adapter=None if adapter == "none" else adapter)
    with progress() as report:
        if method == "sentinel":
            fitted = train_sentinel(
                proxy, examples, source=sets_named(data), seed=seed, progress=report
            )
            target = out or sentinel.own_path(fitted.fingerprint)
        else:
            fitted = fitting.train_probe(
                proxy,
                examples,
                source=sets_named(data),
                cache=cache or home() / "features",
                seed=seed,
                progress=report,
            )
            target = out or probes.folder() / f"{fitted.fingerprint}.json"
    fitted.save(target)
    note(f"fitted on {len(examples)} records: {dict(fitted.provenance)}")
    typer.echo(target)


def train_reader(
    model: ModelSource,
    data: Data,
    dev: Dev = None,
    out: FittedTo = None,
    steps: Steps = 600,
    rank: Rank = 8,
    rate: Rate = 1e-3,
    every: Every = 100,
    seed: Seed = 0,
) -> None:
    """Train an adapter that makes a model's heads look at evidence.

    Saves a checkpoint every so many records; the same command goes on from the last one. Needs the
    extra "train".
    """
    from foveate.compressors import readers
    from foveate.compressors.training.reader import Recipe
    from foveate.compressors.training.reader import train_reader as train
    from foveate.rag.api import load_proxy

    sets = _sets(data)
    held_back = [example for each in _sets(dev or ()) for example in each]
    if not held_back:
        sets, held_back = _split(sets)
    proxy = load_proxy(model, adapter=None)
    target = out or readers.folder() / proxy.fingerprint
    recipe = Recipe(steps=steps, rank=rank, rate=rate, every=every, seed=seed)
    with progress() as report:
        course = train(proxy, sets, held_back, target, recipe, progress=report)
    note(_course(course))
    typer.echo(target / "best")


def _sets(paths: Sequence[Path]) -> list[list[Example]]:
    """The records of each file; those that hold nothing but evidence get neighbours."""
    from foveate.compressors.examples import load_examples
    from foveate.compressors.training.sampling import with_neighbours

    return [with_neighbours(load_examples(path)) for path in paths]


def _split(sets: list[list[Example]]) -> tuple[list[list[Example]], list[Example]]:
    cuts = [max(1, round(len(each) * HELD_BACK_SHARE)) for each in sets]
    held_back = [e for each, cut in zip(sets, cuts, strict=True) for e in each[:cut]]
    return [each[cut:] for each, cut in zip(sets, cuts, strict=True)], held_back


def _course(course: Progressed) -> str:
    points = ", ".join(f"{step}: {score:.3f}" for step, score, _ in course.curve)
    return f"average precision by records seen: {points}; the best is kept, after {course.best}"
