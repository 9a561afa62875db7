"""Which heads of a model look at evidence, and how their attention becomes a calibrated score.

One JSON file a model: shipped beside this module for the default proxy, written into `probes/` of
Foveate's cache folder by `foveate calibrate MODEL` for any other. Found by the fingerprint of the
model's weights.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import InputError
from foveate.blocks.home import home
from foveate.compressors.boosted import Boosted
from foveate.compressors.logistic import Logistic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foveate.blocks.reading import Head

FORMAT = 1
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Probe:
    """The chosen heads of one model, and the calibration of what is read from them.

    Attributes:
        model: Name of the model, for people.
        fingerprint: Identity of its weights; see `weights_fingerprint`.
        heads: The chosen heads, best first.
        scorers: For each scorer, how its features become a probability.
        provenance: What they were chosen on, and how well they did there.
    """

    model: str
    fingerprint: str
    heads: tuple[Head, ...]
    scorers: Mapping[str, Logistic | Boosted]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write as JSON, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        text = json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"))
        draft.write_text(text + "\n", "utf-8")
        draft.replace(path)
        find.cache_clear()


def load(path: Path) -> Probe:
    """Read a probe file.

    Raises:
        InputError: It is not one, or of a newer format.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
        if data.pop("format") != FORMAT:
            raise InputError(f"{path} is of another format; make it anew: foveate calibrate MODEL")
        data["heads"] = tuple((int(layer), int(head)) for layer, head in data["heads"])
        data["scorers"] = {name: _model(each) for name, each in data["scorers"].items()}
        return Probe(**data)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no probe file: {error}; make it anew: foveate calibrate MODEL"
        ) from error


def _model(data: Mapping[str, Any]) -> Logistic | Boosted:
    return Boosted(**data) if "trees" in data else Logistic(**data)


@lru_cache(maxsize=64)
def find(fingerprint: str) -> Probe | None:
    """The probe made for the weights of that fingerprint, the user's own before the shipped one."""
    return next((p for p in _known() if p.fingerprint == fingerprint), None)


def heads_for(fingerprint: str, config: Any, name: str) -> tuple[Head, ...]:
    """The heads to probe in a model: the calibrated ones, else all heads of its middle layers.

    Relevance heads sit in the middle of every family measured (QRHead, https://arxiv.org/abs/2506.09944).

    Args:
        fingerprint: Identity of the weights that read.
        config: The model's configuration.
        name: What to call it.
    """
    probe = find(fingerprint)
    if probe is not None:
        return probe.heads
    log.warning(
        "no heads were chosen for %s yet; for better scores run: foveate calibrate %s", name, name
    )
    layers, width = config.num_hidden_layers, config.num_attention_heads
    middle = range(layers * 2 // 5, max(layers * 3 // 5, layers * 2 // 5 + 1))
    return tuple((layer, head) for layer in middle for head in range(width))


def folder() -> Path:
    """Where the user's own probes are kept."""
    return home() / "probes"


@cache
def shipped() -> Probe:
    """The probe of the default proxy without its adapter: what other models fall back on."""
    return load(Path(str(files(__package__) / "smollm2-135m-instruct.json")))


def _known() -> Iterator[Probe]:
    for path in sorted(folder().glob("*.json")):
        try:
            yield load(path)
        except InputError as damage:  # of no concern to the models that it was not made for
            log.warning("left out: %s", damage)
    yield from map(load, sorted(Path(str(files(__package__))).glob("smollm2-*.json")))
