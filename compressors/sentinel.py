"""Sentinel: a linear probe on the attention of the row that would predict the answer.

Zhang et al., "Sentinel: Attention Probing of Proxy Models for LLM Context Compression",
https://arxiv.org/abs/2505.23277, section 3. With a the last prompt token's attention at layer l
and head h, renormalised within the context, a sentence s of n_s tokens has

    v_s[l, h] = (1 / n_s) sum_{t in s} a[l, h, t],     score(s) = sigmoid(w . v_s + b)

over all layers and heads. Here v_s is multiplied by the tokens of the context, so that 1 is what
every token would get from attention spread evenly: the order within a context is the same, and
weights fitted on long contexts do not run into the ends of the sigmoid on short ones.

It is the method as published, kept as a baseline: it reads with the unadapted model, and with
every head, so that it encodes passages anew, once.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import best_per_passage
from foveate.blocks.errors import NotTrainedError

from .base import Candidates, Scorer, Scores
from .every_head import every_head
from .probes import Probe, folder, load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Head, Reading

NAME = "sentinel"
SHIPPED = "sentinel-smollm2-135m-instruct.json"


class Sentinel(Scorer):
    """The paper's probe. Needs weights for the model that reads."""

    name = NAME
    reads_itself = True

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`.

        Raises:
            NotTrainedError: The model has no weights for it.
        """
        wide = every_head(candidates.reader)
        model = weights_for(wide).scorers[NAME]
        units = model.probability(features(candidates.read_by(wide).reading))
        best = float(units.max(initial=0.0))
        return Scores(units, best_per_passage(candidates, units), nothing=1.0 - best)


def features(reading: Reading) -> NDArray[np.float64]:
    """v_s of each unit, in multiples of an even spread: (units, heads)."""
    last = reading.last.astype(np.float64)
    within = last / np.maximum(last.sum(1, keepdims=True), 1e-12)
    even = reading.tokens / max(int(reading.tokens.sum()), 1)
    shares: NDArray[np.float64] = within / np.maximum(even, 1e-12)
    return shares.T


def feature_names(heads: tuple[Head, ...]) -> tuple[str, ...]:
    """What the weight of each head is filed under: "layer.head"."""
    return tuple(f"{layer}.{head}" for layer, head in heads)


def weights_for(proxy: Proxy) -> Probe:
    """The weights fitted for that model, the user's own before the shipped ones.

    Raises:
        NotTrainedError: There are none.
        InputError: The user's own file is damaged.
    """
    own = own_path(proxy.fingerprint)
    found = load(own) if own.is_file() else shipped()
    if found.fingerprint != proxy.fingerprint:
        raise NotTrainedError(NAME, proxy.name, f"foveate train-probe {proxy.name} --method {NAME}")
    return found


def own_path(fingerprint: str) -> Path:
    """Where the user's own weights for the model of that fingerprint are kept."""
    return folder() / NAME / f"{fingerprint}.json"


@lru_cache(maxsize=1)
def shipped() -> Probe:
    """The weights of the default proxy."""
    return load(Path(str(files("foveate.compressors.probes") / SHIPPED)))
