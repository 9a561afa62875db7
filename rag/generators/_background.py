"""An event loop in a thread of its own, with an asynchronous client that lives and dies there.

So one client serves blocking and asynchronous callers alike, from any thread and any event loop,
and whatever is waited for can be called off at a point in time.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class Background:
    """Runs coroutines in its thread until it is closed or forgotten.

    Args:
        client: An asynchronous context manager; left when the thread ends.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(
            target=_serve, args=(client, ready), name="foveate-client", daemon=True
        )
        self._thread.start()
        self._loop, stop = ready.result()
        self._finalize = weakref.finalize(self, _stop, self._loop, stop)

    @property
    def alive(self) -> bool:
        """False once closed, and in a process that was forked off."""
        return self._finalize.alive and self._thread.is_alive()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start work; cancelling the future calls it off."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the thread; what runs in it is called off."""
        self._finalize()
        self._thread.join()


def _serve(client: Any, ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    async def live() -> None:
        async with client:
            stop = asyncio.Event()
            ready.set_result((asyncio.get_running_loop(), stop))
            await stop.wait()

    asyncio.run(live())


def _stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop is closed already
        loop.call_soon_threadsafe(stop.set)
