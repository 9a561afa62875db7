"""From scores and order to the context: select, render, count what was rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.errors import InputError
from foveate.compressors.budget import Adaptive, Costs, Selection, everything, limit_of, select

from .context import Context, Piece
from .render import ELISION, SEPARATOR, Style, header, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foveate.blocks.candidates import Candidates
    from foveate.blocks.counting import TokenCounter

    from .engine import Clock, Judgement, Options, Pin

MAX_REFITS = 4
"""Attempts to use up what the estimate of single units left over."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asked for, with its counter and clock."""

    options: Options
    count: TokenCounter
    clock: Clock


@dataclass(frozen=True, slots=True)
class _Fit:
    selection: Selection
    text: str
    tokens: int


def assemble(candidates: Candidates, judged: Judgement, request: Request) -> Context:
    """Select, render and account for every unit.

    The text is never over the limit in the caller's tokenizer, and never longer than the input; if
    everything fits, it is the input.
    """
    options, count = request.options, request.count
    with request.clock.stage("select"):
        costs = _costs(candidates, options.style, count)
        whole = _fit(candidates, everything(len(candidates.units)), judged, request)
        limit = limit_of(options.budget, whole.tokens)
        pins = _pinned_units(candidates, options.pins)
        fit = _choose(candidates, judged, request, costs, whole, limit, pins)
    return _context(candidates, judged, request, costs, whole, fit, limit)


def _choose(
    candidates: Candidates,
    judged: Judgement,
    request: Request,
    costs: Costs,
    whole: _Fit,
    limit: int,
    pins: Sequence[int],
) -> _Fit:
    adaptive = request.options.budget if isinstance(request.options.budget, Adaptive) else None
    if adaptive is None and whole.tokens <= limit:
        return whole

    def attempt(allowed: int) -> _Fit:
        chosen = select(candidates, judged.scores, costs, allowed, adaptive=adaptive, pins=pins)
        return _fit(candidates, chosen, judged, request)

    best = _trim(candidates, judged, request, attempt(limit), limit, pins)
    if adaptive is not None:
        return best
    allowed = limit
    for _ in range(MAX_REFITS):
        # Units joined cost less than units alone: hand out again what that saved.
        spare = limit - best.tokens
        if spare <= 0:
            break
        allowed += spare
        other = attempt(allowed)
        if other.tokens > limit or other.tokens <= best.tokens:
            break
        best = other
    return best


def _trim(
    candidates: Candidates,
    judged: Judgement,
    request: Request,
    fit: _Fit,
    limit: int,
    pins: Sequence[int],
) -> _Fit:
    """Give up the least relevant units until the rendered text is within the limit."""
    scores = judged.scores.units
    while fit.tokens > limit and fit.selection.kept:
        needed = {r for unit in fit.selection.kept for r in candidates.requires[unit]}
        free = [u for u in fit.selection.kept if u not in needed and u not in pins]
        if not free:
            raise InputError(
                f"the pinned text takes {fit.tokens} tokens and the limit is {limit}; "
                "raise the budget or pin less"
            )
        worst = min(free, key=lambda unit: (scores[unit], -unit))
        kept = tuple(unit for unit in fit.selection.kept if unit != worst)
        reasons = {unit: fit.selection.reasons[unit] for unit in kept}
        fit = _fit(candidates, Selection(kept, reasons), judged, request)
    return fit


def _fit(candidates: Candidates, selection: Selection, judged: Judgement, request: Request) -> _Fit:
    spans: dict[int, list[tuple[int, int]]] = {}
    for unit in selection.kept:
        span = candidates.units[unit]
        spans.setdefault(int(candidates.owners[unit]), []).append((span.start, span.end))
    order = [i for i in judged.order if i in spans]
    text = render(candidates.passages, spans, order, request.options.style)
    return _Fit(selection, text, request.count(text) if text else 0)


def _costs(candidates: Candidates, style: Style, count: TokenCounter) -> Costs:
    """Tokens of each unit as it will stand in running text: after a space, before a mark."""
    known: dict[str, int] = {}
    for text in candidates.texts:
        if text not in known:
            known[text] = count(" " + text.strip())
    mark = count(f" {ELISION}")
    units = np.array([known[text] + mark for text in candidates.texts], dtype=np.int64)
    passages = [
        count(SEPARATOR + header(passage, i, style))
        for i, passage in enumerate(candidates.passages)
    ]
    return Costs(units, np.array(passages, dtype=np.int64))


def _pinned_units(candidates: Candidates, pins: Iterable[Pin]) -> list[int]:
    by_id: dict[str, list[int]] = {}
    for unit, owner in enumerate(candidates.owners):
        by_id.setdefault(candidates.passages[owner].id, []).append(unit)
    pinned: set[int] = set()
    for pin in pins:
        name, start, end = (pin, 0, None) if isinstance(pin, str) else pin
        if name not in by_id:
            known = ", ".join(sorted(by_id)[:10])
            raise InputError(f"pin {pin!r} names no passage; passage ids are: {known}")
        pinned |= {
            unit
            for unit in by_id[name]
            if candidates.units[unit].end > start
            and (end is None or candidates.units[unit].start < end)
        }
    return sorted(pinned)


def _context(
    candidates: Candidates,
    judged: Judgement,
    request: Request,
    costs: Costs,
    whole: _Fit,
    fit: _Fit,
    limit: int,
) -> Context:
    kept = set(fit.selection.kept)
    owners_kept = {int(candidates.owners[unit]) for unit in kept}
    pieces = tuple(
        Piece(
            passage=int(owner),
            passage_id=candidates.passages[owner].id,
            start=unit.start,
            end=unit.end,
            kind=unit.kind,
            score=float(judged.scores.units[i]),
            kept=i in kept,
            reason=fit.selection.reasons.get(i, "less relevant than what fits"),
            tokens=int(costs.units[i]),
        )
        for i, (owner, unit) in enumerate(zip(candidates.owners, candidates.units, strict=True))
    )
    return Context(
        query=candidates.query,
        text=fit.text,
        passages=candidates.passages,
        pieces=pieces,
        order=tuple(i for i in judged.order if i in owners_kept),
        passage_scores=tuple(float(score) for score in judged.scores.passages),
        nothing=judged.scores.nothing,
        tokens_before=whole.tokens,
        tokens_after=fit.tokens,
        limit=limit,
        timings=request.clock.timings(),
        scorer=judged.scorer,
        orderer=judged.orderer,
        degraded=bool(judged.fault),
        degraded_reason=judged.fault,
        style=request.options.style,
    )
