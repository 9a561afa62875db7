"""Choosing the heads of a model and the weights of its scores, on records whose evidence is known.

Heads: each head alone ranks a record's units by its attention, all heads of all layers in one
reading (the detection of QRHead, https://arxiv.org/abs/2506.09944, section 3.1, with units in place
of documents). Those nearly as good as the best are kept; a greedy search for heads that complement
each other did better on the set itself and worse on any other.

Weights: see `foveate.compressors.training.probe`; each record counts once as it is and once without
the passages that hold its evidence, so that the score learns what it looks like when nothing is
relevant.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .every_head import all_heads
from .ranking import head_ranking
from .training.probe import fit_probe
from .training.table import collect, readings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from foveate.blocks.progress import Progress
    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Head, Reading

    from .examples import Example
    from .probes import Probe

MAX_HEADS = 8
AUC_TOLERANCE = 0.03
"""How far below the best head another may be to be kept."""


def shipped_set() -> Path:
    """The calibration set that comes with Foveate."""
    return Path(str(files("foveate.compressors.probes") / "calibration.jsonl"))


def calibrate(
    proxy: Proxy,
    examples: Sequence[Example],
    *,
    more: Sequence[Example] = (),
    source: str,
    progress: Progress | None = None,
) -> Probe:
    """Choose heads and fit weights for a model.

    Args:
        proxy: The model; its own heads do not matter.
        examples: Records with known evidence.
        more: Further records, for the weights alone.
        source: Name of the sets, for the record.
        progress: Told the stage and how far it is.

    Raises:
        InputError: There are too few records.
        MissingExtraError: scikit-learn is not installed.
    """
    wide = proxy.with_heads(all_heads(proxy))
    pairs = [
        (reading, positive)
        for _, reading, positive in readings(wide, examples, "rank heads", progress)
    ]
    heads = choose_heads(pairs, wide.heads)
    narrow = proxy.with_heads(heads)
    fitted = fit_probe(
        narrow, collect(narrow, [*examples, *more], progress=progress), source=source
    )
    chosen = {
        "records_for_heads": len(examples),
        "auc_of_heads": round(_auc_of(pairs, [wide.heads.index(h) for h in heads]), 4),
    }
    return replace(fitted, provenance={**fitted.provenance, **chosen})


def choose_heads(
    pairs: Sequence[tuple[Reading, NDArray[np.bool_]]], heads: Sequence[Head]
) -> tuple[Head, ...]:
    """The heads that rank evidence best, best first."""
    single = np.array([_auc_of(pairs, [i]) for i in range(len(heads))])
    best = np.argsort(-single, kind="stable")[:MAX_HEADS]
    return tuple(heads[i] for i in best if single[i] >= single.max() - AUC_TOLERANCE)


def auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Chance that a positive outranks a negative; ties count half."""
    wins = (scores[positive][:, None] > scores[~positive]).mean()
    ties = (scores[positive][:, None] == scores[~positive]).mean()
    return float(wins + ties / 2)


def _auc_of(pairs: Sequence[tuple[Reading, NDArray[np.bool_]]], heads: Sequence[int]) -> float:
    """Mean over records of the AUC of these heads' joint ranking."""
    return float(
        np.mean(
            [auc(head_ranking(reading.mass[list(heads)]), positive) for reading, positive in pairs]
        )
    )
