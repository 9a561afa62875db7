"""From scores and order to the context: select, render, count what was rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.compressors.antecedents import antecedents
from foveate.compressors.budget import Adaptive, limit_of
from foveate.compressors.duplicates import twins
from foveate.compressors.keep import kept_units
from foveate.compressors.sections import sections
from foveate.compressors.selection import Plan, everything

from .context import Context, Piece
from .fitting import Fit, Problem, fit
from .pins import pinned_units
from .reasons import why_dropped
from .sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from foveate.blocks.candidates import Candidates
    from foveate.blocks.counting import TokenCounter

    from .engine import Clock, Judgement, Options


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asked for, with its counter and clock."""

    options: Options
    count: TokenCounter
    clock: Clock


def assemble(candidates: Candidates, judged: Judgement, request: Request) -> Context:
    """Select, render and account for every unit.

    The text is never over the limit in the caller's tokenizer, and never longer than the input; if
    everything fits, it is the input.
    """
    options = request.options
    with request.clock.stage("select"):
        sheet = Sheet(candidates, judged.order, options.style, request.count)
        whole = Fit(everything(len(candidates.units)), sheet)
        limit = limit_of(options.budget, whole.tokens)
        adaptive = options.budget if isinstance(options.budget, Adaptive) else None
        enough = adaptive is None and whole.tokens <= limit
        pins = dict.fromkeys(pinned_units(candidates, options.pins), "pinned")
        plan = Plan(musts=pins) if enough else _plan(candidates, pins, options)
        problem = Problem(candidates, judged.scores, plan, limit, adaptive)
        chosen = whole if enough else fit(problem, _spared(problem, judged, request))
    return _context(problem, judged, request, whole.tokens, chosen)


def _spared(problem: Problem, judged: Judgement, request: Request) -> Sheet:
    """Units without the words that they can do without; what must stay is whole."""
    spare = {u: s for u, s in judged.scores.spare.items() if u not in problem.plan.musts}
    style, count = request.options.style, request.count
    return Sheet(problem.candidates, judged.order, style, count, spare=spare)


def _plan(candidates: Candidates, pins: Mapping[int, str], options: Options) -> Plan:
    return Plan(
        musts={**kept_units(candidates, options.keep), **pins},
        antecedents=antecedents(candidates, titled=options.style.titles),
        sections=sections(candidates),
        twins=twins(candidates),
    )


def _context(
    problem: Problem, judged: Judgement, request: Request, tokens_before: int, chosen: Fit
) -> Context:
    candidates, kept = problem.candidates, chosen.selection.reasons
    same = _said_by(problem.plan.twins, kept)
    repeated = {unit: f"the same as unit {by}" for unit, by in same.items()}
    reasons = {**why_dropped(problem, chosen), **repeated, **kept}
    elsewhere = _elsewhere(same, candidates)
    costs = chosen.sheet.costs().units.tolist()
    owners = candidates.owners.tolist()
    owners_kept = {owners[unit] for unit in kept}
    pieces = tuple(
        Piece(
            passage=owner,
            passage_id=candidates.passages[owner].id,
            start=unit.start,
            end=unit.end,
            kind=unit.kind,
            score=float(judged.scores.units[i]),
            kept=i in kept,
            reason=reasons[i],
            tokens=costs[i],
            also_in=tuple(sorted(elsewhere.get(i, set()) - {owner})),
            spared=chosen.sheet.spare.get(i, ()) if i in kept else (),
        )
        for i, (owner, unit) in enumerate(zip(owners, candidates.units, strict=True))
    )
    return Context(
        query=candidates.query,
        text=chosen.sheet.text(chosen.selection.kept),
        passages=candidates.passages,
        pieces=pieces,
        order=tuple(i for i in judged.order if i in owners_kept),
        passage_scores=tuple(float(score) for score in judged.scores.passages),
        nothing=judged.scores.nothing,
        tokens_before=tokens_before,
        tokens_after=chosen.tokens,
        limit=problem.limit,
        timings=request.clock.timings(),
        scorer=judged.scorer,
        orderer=judged.orderer,
        degraded=bool(judged.fault),
        degraded_reason=judged.fault,
        style=request.options.style,
        untitled=chosen.sheet.untitled,
    )


def _said_by(same: Mapping[int, int], kept: Collection[int]) -> dict[int, int]:
    """For each dropped unit that a kept one repeats, the kept one."""
    speaks = {same[unit]: unit for unit in sorted(kept, reverse=True) if unit in same}
    return {
        unit: speaks[group] for unit, group in same.items() if unit not in kept and group in speaks
    }


def _elsewhere(same: Mapping[int, int], candidates: Candidates) -> dict[int, set[int]]:
    """For each kept unit, the passages whose units it stands for."""
    found: dict[int, set[int]] = {}
    for unit, by in same.items():
        found.setdefault(by, set()).add(int(candidates.owners[unit]))
    return found
