"""The edge of every request: its id, arrival and size, its line in the log, its last resort."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from .errors import failure, internal_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("foveate.service")

REQUEST_ID = "X-Request-ID"

QUIET_ROUTES = frozenset({"/health", "/ready"})
"""Routes that are logged at DEBUG."""

_SAFE_ID = re.compile(r"[A-Za-z0-9._\-]{1,128}")


class Edge:
    """Gives a request its id and its time of arrival, and logs route, status and time: no content.

    The id is the client's own `X-Request-ID` if it is a plain one, else a new one; it is sent back
    with every answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        arrived, request_id, status = time.monotonic(), _request_id(scope), 0
        scope.setdefault("state", {}).update(arrived=arrived, request_id=request_id)

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception:  # the last resort: the client gets an answer, the log gets the fault
            log.exception("request %s failed", request_id)
            if status:
                raise  # half an answer is out; only closing the connection tells
            await internal_error(request_id)(scope, receive, send_with_id)
        finally:
            spent_ms = (time.monotonic() - arrived) * 1000
            route = getattr(scope.get("route"), "path", "-")
            # Probes come every few seconds, for ever.
            level = logging.DEBUG if route in QUIET_ROUTES else logging.INFO
            method = scope["method"]
            log.log(level, "%s %s %d %.1f ms %s", method, route, status, spent_ms, request_id)


class BodyLimit:
    """Turns bodies away that are larger than allowed, by what they say or by what they are.

    Args:
        app: What is protected.
        max_bytes: Largest body.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = f"the body is larger than {self._max_bytes:,} bytes; send fewer passages at once"
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > self._max_bytes:
            await failure(413, refusal)(scope, receive, send)
            return
        received = 0

        async def receive_within() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise HTTPException(413, refusal)
            return message

        await self._app(scope, receive_within, send)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get(REQUEST_ID, "")
    return given if _SAFE_ID.fullmatch(given) else uuid.uuid4().hex
