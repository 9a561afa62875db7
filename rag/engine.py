"""The engine behind all three doors: passages in, context out.

The proxy is one way to an answer, never a condition of one: past a deadline or on a fault, BM25
chooses within the same budget and the context says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import numpy as np

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.conversation import Query, standalone
from foveate.blocks.counting import token_counter
from foveate.blocks.deadline import Deadline
from foveate.blocks.errors import DeadlineExceededError, InputError
from foveate.blocks.passage import Passage, as_passages
from foveate.compressors.base import SCORERS, Scorer
from foveate.compressors.budget import Budget
from foveate.compressors.budget import check as check_budget
from foveate.compressors.keep import Keep
from foveate.compressors.keep import check as check_keep
from foveate.compressors.lexical import Lexical
from foveate.reorder.base import ORDERERS, Orderer

from .assemble import Request, assemble
from .render import Style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveate.blocks.counting import TokenCounter
    from foveate.blocks.proxy import Proxy

    from .context import Context

T = TypeVar("T")
log = logging.getLogger(__name__)

FALLBACK_SHARE = 0.1
MAX_FALLBACK_SHARE = 0.5
FALLBACK_SECONDS_PER_CHAR = 5e-6
"""What the lexical answer and the rendering take, of a deadline and of each character of input."""

QUERY_CUT = "the query is too long for the proxy, which read its beginning and end alone"

PassageLike = Passage | str | Mapping[str, Any]
Pin = str | tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Options:
    """How one call compresses.

    Attributes:
        budget: Tokens (int), share of the input (float in (0, 1]), or `Adaptive`.
        tokenizer: What counts tokens: a tiktoken name, a Hugging Face tokenizer, a function; None
            is the proxy's own.
        pins: What must stay: a passage id, or (passage id, start, end) in characters.
        timeout: Seconds until an answer is due; None waits.
        style: Layout of the text.
        keep: What must stay wherever it stands: names of `foveate.compressors.keep.KINDS`
            ("numbers", "dates", "urls", ...), '/a pattern/', or compiled patterns.
    """

    budget: Budget = 0.5
    tokenizer: Any = None
    pins: Sequence[Pin] = ()
    timeout: float | None = None
    style: Style = field(default_factory=Style)
    keep: Sequence[Keep] = ()


class Engine:
    """Scores, selects, orders and renders. Safe to use from many threads.

    Args:
        proxy: Reads. None leaves lexical methods alone, and then every call must name its
            tokenizer.
        scorer: A registered name or a `Scorer`.
        orderer: A registered name or an `Orderer`.
    """

    def __init__(
        self,
        proxy: Proxy | None,
        *,
        scorer: str | Scorer = "fused",
        orderer: str | Orderer = "original",
    ) -> None:
        self.proxy = proxy
        self.scorer = SCORERS.make(scorer)
        self.orderer = ORDERERS.make(orderer)
        self._running: WeakSet[Deadline] = WeakSet()
        # One thread each, so that what needs no model does not wait behind a reading.
        self._readings, self._others = (
            ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"foveate-{name}")
            for name in ("reading", "other")
        )

    def compress(
        self,
        query: Query,
        passages: Iterable[PassageLike],
        options: Options | None = None,
        *,
        scorer: str | Scorer | None = None,
        orderer: str | Orderer | None = None,
        deadline: Deadline | None = None,
    ) -> Context:
        """Choose, order and render what the generator should see.

        Args:
            query: The question, or a conversation that ends with it, as OpenAI's messages: its
                last question is read with what it refers to, and `Context.query` says how.
            passages: What to choose from.
            options: Budget, tokenizer, pins, timeout, style.
            scorer: Another scorer than the engine's, for this call.
            orderer: Another orderer than the engine's, for this call.
            deadline: A running deadline instead of `options.timeout`; whoever holds it can call the
                reading off, and BM25 answers.

        Raises:
            InputError: The query, the passages, the budget, a name or a pin cannot be used. A fault
                of another kind raises nothing; it degrades the answer.
        """
        options = options or Options()
        clock = Clock()
        deadline = deadline or Deadline(options.timeout)
        check_budget(options.budget)
        check_keep(options.keep)
        _check_timeout(options.timeout)
        use = SCORERS.make(scorer) if scorer else self.scorer
        place = ORDERERS.make(orderer) if orderer else self.orderer
        count = self.counter(options.tokenizer)
        with clock.stage("segment"):
            candidates = Candidates(
                standalone(query), as_passages(passages), proxy=self.proxy, deadline=deadline
            )
        judged = self._judge(candidates, use, place, deadline, clock)
        return assemble(candidates, judged, Request(options, count, clock))

    async def acompress(
        self,
        query: Query,
        passages: Iterable[PassageLike],
        options: Options | None = None,
        *,
        scorer: str | Scorer | None = None,
        orderer: str | Orderer | None = None,
    ) -> Context:
        """`compress` without blocking the event loop."""
        return await asyncio.to_thread(
            self.compress, query, passages, options, scorer=scorer, orderer=orderer
        )

    def compress_batch(
        self,
        requests: Iterable[tuple[Query, Iterable[PassageLike]]],
        options: Options | None = None,
        *,
        scorer: str | Scorer | None = None,
        orderer: str | Orderer | None = None,
    ) -> list[Context]:
        """`compress` for many (query, passages); passages that requests share are encoded once."""
        return [
            self.compress(query, passages, options, scorer=scorer, orderer=orderer)
            for query, passages in requests
        ]

    def counter(self, tokenizer: Any) -> TokenCounter:
        """The token counter that a call asks for, the proxy's own by default."""
        if tokenizer is not None:
            return token_counter(tokenizer)
        if self.proxy is None:
            raise InputError("there is no proxy whose tokenizer could count; pass tokenizer=...")
        return self.proxy.count_tokens

    def close(self) -> None:
        """Call off what is running, at its next check, and let the worker thread end."""
        for deadline in list(self._running):
            deadline.cancel()
        for pool in (self._readings, self._others):
            pool.shutdown(wait=False, cancel_futures=True)

    def _judge(
        self,
        candidates: Candidates,
        scorer: Scorer,
        orderer: Orderer,
        deadline: Deadline,
        clock: Clock,
    ) -> Judgement:
        def read() -> Judgement:
            if orderer.reads or (scorer.reads and not scorer.reads_itself):
                with clock.stage("encode"):
                    _ = candidates.blocks
                with clock.stage("read"):
                    _ = candidates.reading
            with clock.stage("score"):
                scores = scorer.score(candidates)
            with clock.stage("order"):
                order = tuple(orderer.order(candidates, scores))
            cut = QUERY_CUT if reads and candidates.query_is_cut else ""
            return Judgement(scores, order, scorer.name, orderer.name, cut).checked(candidates)

        reads = scorer.reads or orderer.reads
        try:
            pool = self._readings if reads else self._others
            if isinstance(scorer, Lexical) and not orderer.reads:
                return read()  # what would stand in for it is no quicker
            reserve = _reserve(candidates, deadline) if deadline.seconds is not None else 0.0
            return self._within(deadline, read, reserve, pool)
        except InputError:
            raise
        except Exception as fault:
            # Fail open: whatever went wrong with the proxy, BM25 can still answer. The message of a
            # fault may quote the text; it goes to the caller, not to the log.
            log.warning("degraded to lexical selection: %s", type(fault).__name__)
            log.debug("the fault", exc_info=fault)
            return _fallback(candidates, orderer, fault, clock)

    def _within(
        self, deadline: Deadline, work: Callable[[], T], reserve: float, pool: ThreadPoolExecutor
    ) -> T:
        """Run work, in time or not at all; what is late is called off at its next check."""
        left = deadline.left()
        if left is None:
            return work()
        if reserve >= left:
            raise DeadlineExceededError(f"{deadline.seconds} s are too short to read this much in")
        self._running.add(deadline)
        future = pool.submit(work)
        try:
            return future.result(timeout=max(0.0, left - reserve))
        except FutureTimeoutError:
            deadline.cancel()
            future.cancel()
            raise DeadlineExceededError(
                f"the reading was not done within {deadline.seconds} s"
            ) from None


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Scores and order, and which methods gave them.

    Attributes:
        scores: Relevance of units and passages.
        order: A permutation of the passages.
        scorer: Name of the scorer that answered.
        orderer: Name of the orderer that answered.
        fault: Why a simpler method answered, or what was left unread; empty if nothing was.
    """

    scores: Scores
    order: tuple[int, ...]
    scorer: str
    orderer: str
    fault: str = ""

    def checked(self, candidates: Candidates) -> Judgement:
        """Itself, if scores and order are what a scorer and an orderer must give.

        Raises:
            TypeError: They are not; the method that gave them is at fault, not the caller.
        """
        units, passages = self.scores.units, self.scores.passages
        if units.shape != (len(candidates.units),) or not np.isfinite(units).all():
            raise TypeError(f"scorer {self.scorer!r} gave no finite score for each unit")
        if passages.shape != (len(candidates.passages),) or not np.isfinite(passages).all():
            raise TypeError(f"scorer {self.scorer!r} gave no finite score for each passage")
        if sorted(self.order) != list(range(len(candidates.passages))):
            raise TypeError(f"orderer {self.orderer!r} gave no permutation of the passages")
        return self


@dataclass(slots=True)
class Clock:
    """Milliseconds by stage."""

    stages: dict[str, float] = field(default_factory=dict)
    _start: float = field(default_factory=time.perf_counter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what runs inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.stages[name] = self.stages.get(name, 0.0) + spent

    def timings(self) -> dict[str, float]:
        """All stages so far, and the total."""
        return {**self.stages, "total": (time.perf_counter() - self._start) * 1000}


def _check_timeout(timeout: object) -> None:
    numeric = isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout >= 0
    if timeout is not None and not numeric:
        raise InputError(f"timeout {timeout!r} is not allowed; give seconds, 0 or more, or None")


def _reserve(candidates: Candidates, deadline: Deadline) -> float:
    """Seconds of a deadline that the answer without a proxy will need.

    All of it where the text alone says that there is no time for a reading besides: a reading takes
    many times as long as the answer without.
    """
    seconds = deadline.seconds or 0.0
    needed = FALLBACK_SECONDS_PER_CHAR * sum(len(p.text) for p in candidates.passages)
    if needed >= seconds:
        return seconds
    return min(max(FALLBACK_SHARE * seconds, needed), MAX_FALLBACK_SHARE * seconds)


def _fallback(
    candidates: Candidates, orderer: Orderer, fault: Exception, clock: Clock
) -> Judgement:
    """BM25, and an order that needs no reading."""
    with clock.stage("fallback"):
        scorer = Lexical()
        scores = scorer.score(candidates)
        place, order = _order_again(candidates, scores, orderer)
    why = f"{type(fault).__name__}: {fault}"
    return Judgement(scores, order, scorer.name, place, why)


def _order_again(
    candidates: Candidates, scores: Scores, orderer: Orderer
) -> tuple[str, tuple[int, ...]]:
    """The asked order if it needs no reading and works; else the caller's own."""
    try:
        if not orderer.reads:
            order = tuple(orderer.order(candidates, scores))
            Judgement(scores, order, Lexical.name, orderer.name).checked(candidates)
            return orderer.name, order
    except Exception as fault:  # noqa: BLE001 - it may be the orderer that failed before
        log.warning("order %s failed as well: %s", orderer.name, type(fault).__name__)
    return "original", tuple(range(len(candidates.passages)))
