"""Systems under test: one record, read and scored once, cut down to every budget."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate import Options
from foveate.blocks.conversation import standalone
from foveate.blocks.passage import as_passages
from foveate.compressors.base import SCORERS, Candidates, Scorer
from foveate.compressors.budget import limit_of
from foveate.compressors.dangling import dangling
from foveate.compressors.random import Random
from foveate.rag.assemble import Request, assemble
from foveate.rag.engine import Clock, Judgement

from .baselines import Lead, text_of, truncated, whole
from .metrics import Outcome, mean, outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foveate import Context, Proxy

    from .data import Record

Budget = int | float

RANDOM_SEEDS = 3
WHOLE = 1.0
"""The only budget of "full"."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a system left of a record at one budget.

    Attributes:
        text: The context.
        spans: Kept character spans by passage.
        tokens: Tokens of the text.
        before: Tokens of all passages rendered whole.
        ms_cold: Milliseconds with no passage known.
        ms_warm: Milliseconds with every passage known.
        nothing: How far the system says that nothing answers; None if it says nothing of the kind.
        dangling: Share of kept units that lean on what is not there; None if unknown.
    """

    text: str
    spans: Mapping[int, Sequence[tuple[int, int]]]
    tokens: int
    before: int
    ms_cold: float
    ms_warm: float
    nothing: float | None = None
    dangling: float | None = None


class Bench:
    """Runs systems by name over records, one proxy for all.

    Passages are encoded once a record; every method that shares the proxy's reading finds them
    known. Its `ms_cold` is that encoding and its own `ms_warm`. A method that reads in its own way
    is run twice instead, with nothing known and with all.

    Args:
        proxy: Reads, and counts tokens.
        seed: The first seed of "random".
    """

    def __init__(self, proxy: Proxy, seed: int = 0) -> None:
        self.proxy, self.seed = proxy, seed
        self._encoded: tuple[Record, float] | None = None

    def run(self, system: str, record: Record, budgets: Sequence[Budget]) -> list[Outcome]:
        """One outcome for each budget."""
        if system in ("full", "truncate"):
            return [outcome(record, self._plain(system, record, b)) for b in budgets]
        runs = [self.contexts(scorer, record, budgets) for scorer in self.scorers(system)]
        return [
            mean([outcome(record, kept) for kept in seeds]) for seeds in zip(*runs, strict=True)
        ]

    def scorers(self, system: str) -> list[Scorer]:
        """The scorer of that name; for "random" one for each seed."""
        if system == "random":
            return [Random(self.seed + n) for n in range(RANDOM_SEEDS)]
        if system == "lead":
            return [Lead()]
        return [SCORERS.make("fused" if system == "default" else system)]

    def contexts(self, scorer: Scorer, record: Record, budgets: Sequence[Budget]) -> list[Kept]:
        """What a scorer keeps, for each budget."""
        extra = 0.0
        if scorer.reads and scorer.reads_itself:
            self.proxy.store.clear()
            self._encoded = None
            _, _, first = self._judge(scorer, record)
        elif scorer.reads:
            extra = self._encode(record)
        candidates, judged, warm = self._judge(scorer, record)
        if scorer.reads and scorer.reads_itself:
            extra = max(0.0, first - warm)
        kept = []
        for budget in budgets:
            start = time.perf_counter()
            request = Request(Options(budget=budget), self.proxy.count_tokens, Clock())
            context = assemble(candidates, judged, request)
            spent = warm + (time.perf_counter() - start) * 1000
            kept.append(_kept(context, candidates, spent + extra, spent))
        return kept

    def _judge(self, scorer: Scorer, record: Record) -> tuple[Candidates, Judgement, float]:
        start = time.perf_counter()
        candidates = self.candidates(record)
        scores = scorer.score(candidates)
        order = tuple(range(len(record.passages)))
        judged = Judgement(scores, order, scorer.name, "original").checked(candidates)
        return candidates, judged, (time.perf_counter() - start) * 1000

    def candidates(self, record: Record) -> Candidates:
        """The record as `Engine.compress` sees it."""
        return Candidates(standalone(record.query), as_passages(record.passages), proxy=self.proxy)

    def _encode(self, record: Record) -> float:
        """Milliseconds that encoding the record's passages took, the first time."""
        if self._encoded is None or self._encoded[0] is not record:
            self.proxy.store.clear()
            candidates = self.candidates(record)
            start = time.perf_counter()
            _ = candidates.blocks
            self._encoded = record, (time.perf_counter() - start) * 1000
        return self._encoded[1]

    def _plain(self, system: str, record: Record, budget: Budget) -> Kept:
        start = time.perf_counter()
        count = self.proxy.count_tokens
        spans = whole(record.passages)
        text = text_of(record.passages, spans)
        tokens = before = count(text)
        limit = limit_of(budget, before)
        if system == "truncate" and before > limit:
            spans = truncated(record.passages, limit, count)
            text = text_of(record.passages, spans)
            tokens = count(text) if text else 0
        spent = (time.perf_counter() - start) * 1000
        return Kept(text, spans, tokens, before, spent, spent)


def _kept(context: Context, candidates: Candidates, cold: float, warm: float) -> Kept:
    if context.degraded or context.tokens_after > context.limit:
        raise AssertionError(f"{context!r} is degraded or over its budget of {context.limit}")
    units = [unit for unit, piece in enumerate(context.pieces) if piece.kept]
    return Kept(
        context.text,
        context.spans(),
        context.tokens_after,
        context.tokens_before,
        cold,
        warm,
        nothing=context.nothing,
        dangling=dangling(candidates, units, context.untitled),
    )
