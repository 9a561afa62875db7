"""From scores and order to the context: select, render, count what was rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.errors import BudgetError, InputError
from foveate.compressors.budget import (
    Adaptive,
    Costs,
    Selection,
    cost_of,
    everything,
    limit_of,
    select,
)

from .context import Context, Piece
from .render import ELISION, SEPARATOR, Style, header, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foveate.blocks.candidates import Candidates
    from foveate.blocks.counting import TokenCounter

    from .engine import Clock, Judgement, Options, Pin

MAX_ATTEMPTS = 6
"""Selections that are rendered and counted to come near the limit."""


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
    least = _least(candidates, judged, request, costs, pins, limit)
    known: dict[tuple[int, ...], _Fit] = {}

    def attempt(allowed: int) -> _Fit:
        allowed = max(allowed, least)
        chosen = select(candidates, judged.scores, costs, allowed, adaptive=adaptive, pins=pins)
        if chosen.kept not in known:
            known[chosen.kept] = _fit(candidates, chosen, judged, request)
        return known[chosen.kept]

    return _search(attempt, limit, judged, candidates, request, pins)


def _least(
    candidates: Candidates,
    judged: Judgement,
    request: Request,
    costs: Costs,
    pins: Sequence[int],
    limit: int,
) -> int:
    """Estimated tokens of what is pinned.

    Raises:
        BudgetError: Rendered alone it is over the limit.
    """
    if not pins:
        return 0
    estimate = cost_of(candidates, costs, pins)
    alone = select(candidates, judged.scores, costs, estimate, pins=pins)
    tokens = _fit(candidates, alone, judged, request).tokens
    if tokens > limit:
        raise BudgetError(
            f"the pinned text takes {tokens} tokens and does not fit into {limit}; "
            "raise the budget or pin less"
        )
    return estimate


def _search(
    attempt: Callable[[int], _Fit],
    limit: int,
    judged: Judgement,
    candidates: Candidates,
    request: Request,
    pins: Sequence[int],
) -> _Fit:
    """The fullest selection within the limit that a few attempts find.

    What units cost together is known only when they are rendered: joined they may take fewer tokens
    than alone, or more. So the estimate is allowed more, or less, by what it was off.
    """
    best: _Fit | None = None
    allowed, step = limit, 0
    for _ in range(MAX_ATTEMPTS):
        fit = attempt(allowed)
        if fit.tokens <= limit and (best is None or fit.tokens > best.tokens):
            best = fit
        off = limit - fit.tokens
        if off == 0:
            break
        # Once something fits, an attempt that does not only takes half the last step back.
        step = off if off > 0 or best is None else -max(1, step // 2)
        allowed = max(0, allowed + step)
    return best or _trim(candidates, judged, request, attempt(0), limit, pins)


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
    while fit.tokens > limit:
        needed = {r for unit in fit.selection.kept for r in candidates.requires[unit]}
        free = [u for u in fit.selection.kept if u not in needed and u not in pins]
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
            # One space or line break behind a unit joins the next; longer white space counts.
            shown = text.strip()
            known[text] = count(" " + shown if len(text) - len(shown) < 2 else text)
    mark = count(f" {ELISION}")
    units = np.array([known[text] + mark for text in candidates.texts], dtype=np.int64)
    passages = [
        count(SEPARATOR + header(passage, i, style))
        for i, passage in enumerate(candidates.passages)
    ]
    return Costs(units, np.array(passages, dtype=np.int64))


def _pinned_units(candidates: Candidates, pins: Iterable[Pin]) -> list[int]:
    by_id: dict[str, list[int]] = {passage.id: [] for passage in candidates.passages}
    for unit, owner in enumerate(candidates.owners):
        by_id[candidates.passages[owner].id].append(unit)
    pinned: set[int] = set()
    for pin in pins:
        name, start, end = _parts(pin)
        if name not in by_id:
            known = ", ".join(sorted(by_id)[:10])
            raise InputError(f"pin {pin!r} names no passage; passage ids are: {known}")
        held = {
            unit
            for unit in by_id[name]
            if candidates.units[unit].end > start
            and (end is None or candidates.units[unit].start < end)
        }
        if not held and end is not None:
            raise InputError(f"pin {pin!r} lies outside of the text of its passage")
        pinned |= held
    return sorted(pinned)


def _parts(pin: object) -> tuple[str, int, int | None]:
    match pin:
        case str():
            return pin, 0, None
        case (str() as name, int() as start, int() as end) if 0 <= start < end:
            return name, start, end
        case _:
            raise InputError(
                f"pin {pin!r} is not allowed; give a passage id, or (passage id, start, end)"
            )


def _why_dropped(unit: int, judged: Judgement, fit: _Fit, request: Request) -> str:
    scores = judged.scores.units
    worst_kept = min((scores[u] for u in fit.selection.kept), default=1.0)
    if scores[unit] > worst_kept:
        return "does not fit beside what is more relevant"
    if isinstance(request.options.budget, Adaptive):
        return "not needed beside what is kept"
    return "less relevant than what fits"


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
            reason=fit.selection.reasons.get(i) or _why_dropped(i, judged, fit, request),
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
