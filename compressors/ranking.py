"""Attention per head, made into one value a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.reading import Reading

TINY = 1e-7


def standardise(values: NDArray[np.floating] | list[float]) -> NDArray[np.float64]:
    """Mean 0 and deviation 1 along the last axis; all 0 where the values do not differ."""
    data = np.asarray(values, dtype=np.float64)
    if not data.shape[-1]:
        return data
    centred = data - data.mean(-1, keepdims=True)
    deviation = data.std(-1, keepdims=True)
    flat = np.zeros_like(centred)
    scaled: NDArray[np.float64] = np.divide(centred, deviation, out=flat, where=deviation > 1e-12)
    return scaled


def head_ranking(mass: NDArray[np.floating]) -> NDArray[np.float64]:
    """Log of (heads, units) attention mass, standardised for each head, averaged: (units,).

    High where all heads agree.
    """
    return over_heads(standardise(np.log(mass + TINY)))


def share_ranking(mass: NDArray[np.floating]) -> NDArray[np.float64]:
    """Log of the share of each head's mass, averaged over heads: (heads, units) to (units,).

    High where some head looks; what a reader is trained to rank by.
    """
    whole = np.asarray(mass, dtype=np.float64)
    return np.log(over_heads(whole / (whole.sum(-1, keepdims=True) + TINY)) + TINY)


def looked(reading: Reading) -> NDArray[np.float64]:
    """Log attention mass over the shared head's, averaged over probed heads: (units,)."""
    odds = np.log(reading.mass + TINY) - np.log(reading.head_share + TINY)[:, None]
    return over_heads(odds)


def odds(reading: Reading) -> NDArray[np.float64]:
    """Log of the mean over probed heads of attention mass over the shared head's: (units,)."""
    ratios = reading.mass / (reading.head_share + TINY)[:, None]
    return np.log(over_heads(ratios) + TINY)


def over_heads(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Mean over heads."""
    mean: NDArray[np.float64] = values.mean(0, dtype=np.float64)
    return mean
