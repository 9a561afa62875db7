"""A context as plain values: for JSON, for logs, for other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import Context, Piece

VERSION = 1
"""Of the layout below; raised when a key changes its meaning or goes. New keys may come."""

SCORE_DIGITS = 6
TIMING_DIGITS = 3  # microseconds
MAX_DEPTH = 32
"""Nesting of metadata that is kept as it is; anything deeper, a cycle too, becomes its `str`."""


def as_dict(context: Context) -> dict[str, Any]:
    """Every field of a context as JSON-able values; source text appears once, under "passages".

    Pieces name their passage by index and id, and their text by character span. Text is kept as it
    is, lone surrogates too: `json.dumps` escapes them and `json.loads` gives them back. What JSON
    cannot hold in metadata becomes its `str`.
    """
    return {
        "version": VERSION,
        "query": context.query,
        "text": context.text,
        "kept": [_piece(piece) for piece in context.kept],
        "dropped": [_piece(piece) for piece in context.dropped],
        "order": list(context.order),
        "passages": _passages(context),
        "nothing": _number(context.nothing, SCORE_DIGITS),
        "confidence": _number(context.confidence, SCORE_DIGITS),
        "nothing_relevant": context.nothing_relevant,
        "tokens_before": context.tokens_before,
        "tokens_after": context.tokens_after,
        "limit": context.limit,
        "ratio": _number(context.ratio, SCORE_DIGITS),
        "timings": {
            stage: _number(spent, TIMING_DIGITS) for stage, spent in context.timings.items()
        },
        "scorer": context.scorer,
        "orderer": context.orderer,
        "degraded": context.degraded,
        "degraded_reason": context.degraded_reason,
        "style": {"titles": context.style.titles, "numbered": context.style.numbered},
        "untitled": sorted(context.untitled),
    }


def as_json(context: Context, *, indent: int | None = None) -> str:
    """`as_dict` as plain ASCII: any file, pipe or socket takes it, whatever the text holds."""
    return json.dumps(as_dict(context), ensure_ascii=True, allow_nan=False, indent=indent)


def _piece(piece: Piece) -> dict[str, Any]:
    return {
        "passage": piece.passage,
        "id": piece.passage_id,
        "start": piece.start,
        "end": piece.end,
        "kind": piece.kind,
        "score": _number(piece.score, SCORE_DIGITS),
        "reason": piece.reason,
        "also_in": list(piece.also_in),
        "spared": [list(span) for span in piece.spared],
        "tokens": piece.tokens,
    }


def _passages(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "id": passage.id,
            "title": passage.title,
            "text": passage.text,
            "score": _number(score, SCORE_DIGITS),
            "metadata": _plain(passage.metadata),
        }
        for passage, score in zip(context.passages, context.passage_scores, strict=True)
    ]


def _number(value: float, digits: int) -> float | None:
    """Rounded; None for what JSON has no number for."""
    return round(float(value), digits) if math.isfinite(value) else None


def _plain(value: object, above: tuple[int, ...] = ()) -> Any:
    if value is None or isinstance(value, bool):
        return value
    match value:
        # An enum may be a str or an int by class: its plain value is what counts.
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case _ if len(above) >= MAX_DEPTH or id(value) in above:
            return str(value)
        case _:
            return _composite(value, (*above, id(value)))


def _composite(value: object, above: tuple[int, ...]) -> Any:
    match value:
        case Mapping():
            return {str(key): _plain(item, above) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, above) for item in value]
        case set() | frozenset():
            return [_plain(item, above) for item in sorted(value, key=repr)]
    # numpy arrays and scalars, torch tensors: what they hold, as Python numbers.
    unwrap = getattr(value, "tolist", None)
    return _plain(unwrap(), above) if callable(unwrap) else str(value)
