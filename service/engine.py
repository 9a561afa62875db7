"""One worker thread owns the engine; asyncio stands in front of it, with a bounded queue between.

A request is turned away before any model work if the queue is full, and is dropped from the queue
when nobody waits for it any more. Requests that were taken in are finished before the worker ends.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from .errors import NotReadyError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from foveate.blocks.passage import Passage
    from foveate.rag.context import Context
    from foveate.rag.engine import Engine, Options

log = logging.getLogger(__name__)

State = Literal["loading", "ready", "draining", "failed"]

MAX_RETRY_AFTER_S = 60
"""Longest wait that a turned-away client is told."""

RECENT = 0.2
"""Weight of the newest request in the running mean of how long one takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One request to the engine. A value, so that a batching worker can group them.

    Attributes:
        query: The question.
        passages: What to choose from.
        options: How; `options.timeout` counts from `arrived`.
        arrived: `time.monotonic()` when the request came in.
        scorer: Registered name, or None for the engine's own.
        orderer: Registered name, or None for the engine's own.
    """

    query: str
    passages: Sequence[Passage]
    options: Options
    arrived: float
    scorer: str | None = None
    orderer: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """An answer, and the milliseconds that its request stood in the queue."""

    context: Context
    queue_ms: float


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    call: Call
    future: Future[Served] = field(default_factory=Future)
    queued: float = field(default_factory=time.monotonic)


class EngineRunner:
    """Loads the engine on a thread of its own and runs calls there, first come first served.

    Args:
        open: Loads the engine, and closes it on leaving; called once, on the worker thread.
        max_queue: Calls that may wait while one runs.
    """

    def __init__(
        self, open: Callable[[], AbstractContextManager[Engine]], *, max_queue: int
    ) -> None:
        self._open, self._max_queue = open, max_queue
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._running = False
        self._draining = False
        self._mean_s = 1.0
        self._loaded: Future[Engine] = Future()
        self._loaded.set_running_or_notify_cancel()  # who waits for it cannot call it off
        self._thread = threading.Thread(target=self._work, name="foveate-worker", daemon=True)

    def start(self) -> None:
        """Begin to load; returns at once."""
        self._thread.start()

    @property
    def state(self) -> State:
        """Whether calls are taken, and if not, why."""
        if self._draining:
            return "draining"
        if not self._loaded.done():
            return "loading"
        return "failed" if self.failure else "ready"

    @property
    def failure(self) -> BaseException | None:
        """Why the engine could not be loaded; None if it could, or is not yet."""
        return self._loaded.exception() if self._loaded.done() else None

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._jobs)

    @property
    def engine(self) -> Engine:
        """The engine.

        Raises:
            NotReadyError: It is not loaded, or the service is shutting down.
        """
        if self.state != "ready":
            raise NotReadyError(self.state)
        return self._loaded.result()

    async def loaded(self) -> None:
        """Wait until the engine is loaded, or failed to."""
        await asyncio.gather(asyncio.wrap_future(self._loaded), return_exceptions=True)

    async def run(self, call: Call) -> Served:
        """Queue a call and wait for its answer; cancelling the wait takes it out of the queue.

        Raises:
            NotReadyError: The engine is not loaded, or the service is shutting down.
            OverloadedError: The queue is full.
            FoveateError: What the engine raised.
        """
        return await asyncio.wrap_future(self._admit(call).future)

    def drain(self) -> None:
        """Take no more calls; the worker ends when those taken in are done."""
        with self._changed:
            self._draining = True
            self._changed.notify()

    async def close(self, timeout: float) -> None:
        """Drain, wait up to `timeout` seconds, and call off what is left."""
        self.drain()
        if self._loaded.done():
            await asyncio.to_thread(self._thread.join, timeout)
        with self._changed:
            left = list(self._jobs)
        if left:
            log.warning("shut down with %d requests unanswered", len(left))
        for job in left:
            job.future.cancel()

    def _admit(self, call: Call) -> _Job:
        with self._changed:
            if self.state != "ready":
                raise NotReadyError(self.state)
            taken = len(self._jobs) + self._running
            if taken > self._max_queue:
                wait_s = math.ceil(self._mean_s * taken)
                raise OverloadedError(len(self._jobs), min(max(wait_s, 1), MAX_RETRY_AFTER_S))
            job = _Job(call)
            self._jobs.append(job)
            self._changed.notify()
        job.future.add_done_callback(lambda _: self._forget(job))
        return job

    def _forget(self, job: _Job) -> None:
        """Free the place, and the passages, of a job that was cancelled while it waited."""
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)

    def _work(self) -> None:
        try:
            opened = self._open()
        except BaseException as error:  # whatever it was, the process must say that it is not ready
            log.exception("the engine could not be loaded")
            self._loaded.set_exception(error)
            return
        with opened as engine:
            self._loaded.set_result(engine)
            while self._work_once(engine):
                pass

    def _work_once(self, engine: Engine) -> bool:
        job = self._next()
        if job is None:
            return False
        finish = self._attempt(engine, job) if job.future.set_running_or_notify_cancel() else None
        with self._changed:
            self._running = False  # before the answer is out, or its reader could find no place
        if finish:
            finish()
        return True

    def _attempt(self, engine: Engine, job: _Job) -> Callable[[], None]:
        try:
            return partial(job.future.set_result, self._answer(engine, job))
        except Exception as error:  # noqa: BLE001 - it belongs to the one who waits
            return partial(job.future.set_exception, error)
        except BaseException as error:  # noqa: BLE001 - no plug-in may end the server
            fault = RuntimeError(f"{type(error).__name__} inside the engine")
            fault.__cause__ = error
            return partial(job.future.set_exception, fault)

    def _next(self) -> _Job | None:
        """The oldest job, waiting for one; None once draining is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._draining)
            self._running = bool(self._jobs)
            return self._jobs.popleft() if self._jobs else None

    def _answer(self, engine: Engine, job: _Job) -> Served:
        started = time.monotonic()
        call = job.call
        options = call.options
        if options.timeout is not None:
            left = max(0.0, options.timeout - (started - call.arrived))
            options = replace(options, timeout=left)
        context = engine.compress(
            call.query, call.passages, options, scorer=call.scorer, orderer=call.orderer
        )
        self._mean_s += RECENT * (time.monotonic() - started - self._mean_s)
        return Served(context, (started - job.queued) * 1000)
