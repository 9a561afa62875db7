from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from foveate.blocks.errors import EmptyQueryError
from foveate.blocks.passage import as_passages
from foveate.rag.engine import Engine, Options
from foveate.service.engine import Call, EngineRunner
from foveate.service.errors import NotReadyError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from conftest import Gate

PASSAGES = as_passages(["The bridge was opened in 1887. Ferries ran until 1966."])


def call(query: str, **options: Any) -> Call:
    return Call(query, PASSAGES, Options(budget=6, **options), time.monotonic())


@contextlib.asynccontextmanager
async def runner_of(engine: Engine, *, max_queue: int = 8) -> AsyncIterator[EngineRunner]:
    runner = EngineRunner(lambda: contextlib.nullcontext(engine), max_queue=max_queue)
    runner.start()
    await runner.loaded()
    async with asyncio.timeout(20):
        try:
            yield runner
        finally:
            await runner.close(20)


async def queued(runner: EngineRunner, query: str, **options: Any) -> asyncio.Task[Any]:
    """A call that stands in the queue when this returns."""
    before = runner.waiting
    task = asyncio.create_task(runner.run(call(query, **options)))
    while runner.waiting == before:
        await asyncio.sleep(0)
    return task


async def at_the_gate(runner: EngineRunner, gate: Gate, query: str) -> asyncio.Task[Any]:
    """A call that runs, and waits at the gate, when this returns."""
    task = asyncio.create_task(runner.run(call(query)))
    assert await asyncio.to_thread(gate.arrival) == query
    return task


async def test_calls_are_answered_one_at_a_time_first_come_first_served(
    gated: Engine, gate: Gate
) -> None:
    async with runner_of(gated) as runner:
        tasks = [await at_the_gate(runner, gate, "a")]
        tasks += [await queued(runner, query) for query in "bcd"]
        assert gate.came == ["a"]
        gate.open.set()
        answers = await asyncio.gather(*tasks)
    assert gate.came == ["a", "b", "c", "d"]
    assert [served.context.query for served in answers] == ["a", "b", "c", "d"]


async def test_a_full_queue_turns_calls_away_before_any_work(gated: Engine, gate: Gate) -> None:
    async with runner_of(gated, max_queue=1) as runner:
        first = await at_the_gate(runner, gate, "first")
        second = await queued(runner, "second")
        with pytest.raises(OverloadedError, match="1 requests are waiting") as refusal:
            await runner.run(call("third"))
        assert 1 <= refusal.value.retry_after_s <= 60
        gate.open.set()
        await asyncio.gather(first, second)
        await runner.run(call("fourth"))
    assert gate.came == ["first", "second", "fourth"]


async def test_without_a_queue_one_call_runs_and_its_end_makes_room(engine: Engine) -> None:
    async with runner_of(engine, max_queue=0) as runner:
        for _ in range(50):
            await runner.run(call("bridge"))


async def test_a_call_that_nobody_waits_for_is_dropped_from_the_queue(
    gated: Engine, gate: Gate
) -> None:
    async with runner_of(gated, max_queue=1) as runner:
        first = await at_the_gate(runner, gate, "first")
        dropped = await queued(runner, "dropped")
        dropped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropped
        assert runner.waiting == 0
        last = await queued(runner, "last")
        gate.open.set()
        await asyncio.gather(first, last)
    assert gate.came == ["first", "last"]


async def test_a_cancelled_call_that_already_runs_does_not_stop_the_worker(
    gated: Engine, gate: Gate
) -> None:
    async with runner_of(gated) as runner:
        (await at_the_gate(runner, gate, "first")).cancel()
        second = await queued(runner, "second")
        gate.open.set()
        assert (await second).context.query == "second"


async def test_time_in_the_queue_is_told_and_taken_off_the_deadline(
    gated: Engine, gate: Gate
) -> None:
    async with runner_of(gated) as runner:
        first = await at_the_gate(runner, gate, "first")
        gate.hold("hurried")
        hurried = await queued(runner, "hurried", timeout=0.01)
        gate.open.set()
        served = await hurried
        assert served.context.degraded
        assert served.queue_ms > 0
        assert not (await first).context.degraded


@pytest.mark.parametrize(("timeout", "left"), [(60.0, 20.0), (30.0, 0.0)])
async def test_the_engine_gets_only_the_time_that_is_left_since_arrival(
    timeout: float, left: float
) -> None:
    given: list[float] = []

    class Watched(Engine):
        def compress(self, query: Any, passages: Any, options: Any, **kwargs: Any) -> Any:
            given.append(options.timeout)
            return super().compress(query, passages, replace(options, timeout=None), **kwargs)

    engine = Watched(None, scorer="lexical")
    async with runner_of(engine) as runner:
        options = Options(budget=6, tokenizer=lambda text: len(text.split()), timeout=timeout)
        await runner.run(Call("bridge", PASSAGES, options, time.monotonic() - 40.0))
    engine.close()
    assert 0 <= given[0] <= left


async def test_what_the_engine_raises_reaches_the_caller_and_the_worker_lives(
    engine: Engine,
) -> None:
    async with runner_of(engine) as runner:
        with pytest.raises(EmptyQueryError):
            await runner.run(call(" "))
        assert (await runner.run(call("bridge"))).context.tokens_after


async def test_even_an_exit_inside_the_engine_only_fails_its_own_call(engine: Engine) -> None:
    class Exits(Engine):
        def compress(self, *args: Any, **kwargs: Any) -> Any:
            raise SystemExit("from a plug-in")

    async with runner_of(Exits(None, scorer="lexical")) as runner:
        for _ in range(2):
            task = asyncio.ensure_future(runner.run(call("bridge")))
            await asyncio.wait([task])
            assert isinstance(task.exception(), RuntimeError)
        assert runner.state == "ready"


async def test_draining_finishes_what_was_taken_in_and_takes_no_more(
    gated: Engine, gate: Gate
) -> None:
    async with runner_of(gated) as runner:
        taken = [await at_the_gate(runner, gate, "a"), await queued(runner, "b")]
        runner.drain()
        assert runner.state == "draining"
        with pytest.raises(NotReadyError, match="draining"):
            await runner.run(call("late"))
        closing = asyncio.create_task(runner.close(20))
        gate.open.set()
        answers = await asyncio.gather(*taken)
        await closing
    assert [served.context.query for served in answers] == ["a", "b"]


async def test_what_is_not_done_in_time_is_called_off(gated: Engine, gate: Gate) -> None:
    async with runner_of(gated) as runner:
        first = await at_the_gate(runner, gate, "first")
        waiting = await queued(runner, "waiting")
        await runner.close(0)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not first.done()
        gate.open.set()
        await first
    assert gate.came == ["first"]


async def test_it_is_loading_until_the_engine_is_there(engine: Engine) -> None:
    go = threading.Event()

    def slow() -> contextlib.AbstractContextManager[Engine]:
        assert go.wait(20)
        return contextlib.nullcontext(engine)

    runner = EngineRunner(slow, max_queue=1)
    runner.start()
    assert runner.state == "loading"
    with pytest.raises(NotReadyError, match="loading"):
        await runner.run(call("early"))
    go.set()
    await runner.loaded()
    assert runner.state == "ready"
    assert runner.engine is engine
    await runner.close(20)


async def test_an_engine_that_cannot_be_loaded_leaves_it_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> contextlib.AbstractContextManager[Engine]:
        raise OSError("no weights")

    runner = EngineRunner(broken, max_queue=1)
    runner.start()
    await runner.loaded()
    assert runner.state == "failed"
    with pytest.raises(NotReadyError, match="failed"):
        await runner.run(call("never"))
    assert "no weights" in caplog.text
    await runner.close(20)


async def test_the_engine_is_closed_by_the_thread_that_opened_it(engine: Engine) -> None:
    seen: list[tuple[str, str]] = []

    @contextlib.contextmanager
    def opened() -> Any:
        seen.append(("opened", threading.current_thread().name))
        yield engine
        seen.append(("closed", threading.current_thread().name))

    runner = EngineRunner(opened, max_queue=1)
    runner.start()
    await runner.loaded()
    await runner.run(call("bridge"))
    await runner.close(20)
    assert seen == [("opened", "foveate-worker"), ("closed", "foveate-worker")]
