"""What a route asks for, and how long its client has to stay for an answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

from fastapi import Depends, Request

from .engine import EngineRunner
from .errors import ClientGoneError
from .settings import Settings

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


def _runner(request: Request) -> EngineRunner:
    return cast("EngineRunner", request.app.state.runner)


def _settings(request: Request) -> Settings:
    return cast("Settings", request.app.state.settings)


Runner = Annotated[EngineRunner, Depends(_runner)]
Config = Annotated[Settings, Depends(_settings)]


def arrived(request: Request) -> float:
    """`time.monotonic()` when the request came in."""
    return cast("float", request.state.arrived)


def request_id(request: Request) -> str:
    """The id under which the request is logged and answered."""
    return cast("str", request.state.request_id)


async def while_connected(request: Request, work: Coroutine[object, object, T]) -> T:
    """Await work as long as the client waits for it; cancel it when the client is gone.

    Raises:
        ClientGoneError: The client hung up first.
    """
    answer = asyncio.ensure_future(work)
    hangup = asyncio.ensure_future(_hangup(request))
    try:
        await asyncio.wait((answer, hangup), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientGoneError("the client hung up")
        return answer.result()
    finally:
        answer.cancel()
        hangup.cancel()
        await asyncio.gather(answer, hangup, return_exceptions=True)


async def _hangup(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
