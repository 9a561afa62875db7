"""Trained readers: adapters that make a model look at evidence, found by the model's weights.

One folder each, in PEFT's layout with Foveate's `training.json` beside it: shipped in this package
for the default proxy, written into `readers/` of Foveate's cache folder by `foveate train-reader`
for any other.
"""

from __future__ import annotations

import json
import logging
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError
from foveate.blocks.home import home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveate.blocks.reading import Head

TRAINING = "training.json"
log = logging.getLogger(__name__)


def folder() -> Path:
    """Where the user's own readers are kept."""
    return home() / "readers"


def find(fingerprint: str) -> Path | None:
    """The reader trained for the weights of that fingerprint, the user's own before the shipped.

    Args:
        fingerprint: Of the model without an adapter; see `weights_fingerprint`.
    """
    return next((path for path, of in _known() if of == fingerprint), None)


def heads_of(reader: Path) -> tuple[Head, ...]:
    """The heads that a reader was trained for.

    Raises:
        InputError: Its `training.json` is missing or damaged.
    """
    try:
        heads = json.loads((reader / TRAINING).read_text("utf-8"))["heads"]
        return tuple((int(layer), int(head)) for layer, head in heads)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{reader / TRAINING} does not say which heads were trained: {error}; train anew: "
            "foveate train-reader MODEL"
        ) from error


def _known() -> Iterator[tuple[Path, str]]:
    shipped = Path(str(files(__package__)))
    own = sorted(folder().glob(f"*/best/{TRAINING}"))
    for record in (*own, *sorted(shipped.glob(f"*/{TRAINING}"))):
        try:
            yield record.parent, str(json.loads(record.read_text("utf-8"))["fingerprint"])
        except (OSError, ValueError, KeyError, TypeError) as damage:
            log.warning("left out the reader in %s: %s", record.parent, damage)
