"""Errors as HTTP: one body for all, `{"error": {"message", "type", "param", "code"}}`.

| what | status | type |
|---|---|---|
| the body is not of the schema | 422 | invalid_request_error |
| `InputError`: well-formed, but it cannot be used | 400 | invalid_request_error |
| no such route, wrong method, body too large | 404, 405, 413 | invalid_request_error |
| `OverloadedError`: the queue is full | 429 | overloaded_error |
| `NotReadyError`: loading, draining, failed to load | 503 | not_ready_error |
| anything else | 500 | server_error, and nothing about the inside |
"""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from foveate.blocks.errors import (
    BudgetError,
    EmptyQueryError,
    FoveateError,
    InputError,
    NoPassagesError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request

log = logging.getLogger(__name__)

_UNION_LABELS = frozenset({"int", "float", "str", "AdaptiveBudget", "SpanPin"})
_CLIENT_GONE = 499
_NAMES = {413: "content_too_large"}  # Python's own name for it changed in 3.13


class ServiceError(FoveateError):
    """The service cannot take a request now."""


class NotReadyError(ServiceError):
    """The engine is not there.

    Args:
        state: "loading", "draining" or "failed".
    """

    def __init__(self, state: str) -> None:
        self.state = state
        super().__init__(f"the service is {state}; ask /ready and try again")


class OverloadedError(ServiceError):
    """The queue is full.

    Args:
        waiting: Requests in it.
        retry_after_s: Seconds after which it will probably have room.
    """

    def __init__(self, waiting: int, retry_after_s: int) -> None:
        self.waiting, self.retry_after_s = waiting, retry_after_s
        super().__init__(f"{waiting} requests are waiting; try again in {retry_after_s} s")


class ClientGoneError(ServiceError):
    """Nobody waits for the answer any more."""


def install(app: FastAPI) -> None:
    """Let the app answer errors in our shape."""
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(FoveateError, _on_foveate)


def failure(
    status: int,
    message: str,
    *,
    type: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error response. What a client sent may be no valid Unicode; what goes back is."""
    body = {
        "message": _unicode(message),
        "type": type,
        "param": None if param is None else _unicode(param),
        "code": code or _NAMES.get(status) or HTTPStatus(status).name.lower(),
    }
    return JSONResponse({"error": body}, status_code=status, headers=dict(headers or {}))


def internal_error(request_id: str) -> JSONResponse:
    """What a client is told of a fault of ours: where the log has it."""
    message = f"internal error; the server's log has it under request id {request_id}"
    return failure(500, message, type="server_error", code="internal")


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = error.errors()
    # A value that fits no member of a union is reported once a member: the deepest knows most.
    first = max(errors, key=lambda e: len(e["loc"]))
    if first["type"] == "json_invalid":
        return failure(422, f"the body is no JSON: {first['ctx']['error']}", code="json_invalid")
    param = _param(first["loc"])
    message = f"{param or 'body'}: {first['msg']}"
    return failure(422, message, code=str(first["type"]), param=param or None)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return failure(error.status_code, str(error.detail), headers=error.headers)


async def _on_foveate(request: Request, error: Exception) -> Response:
    match error:
        case InputError():
            return failure(400, str(error), code=_code(error), param=_param_of(error))
        case OverloadedError():
            headers = {"Retry-After": str(error.retry_after_s)}
            kind = "overloaded_error"
            return failure(429, str(error), type=kind, code="overloaded", headers=headers)
        case NotReadyError():
            headers = {"Retry-After": "1"}
            kind = "not_ready_error"
            return failure(503, str(error), type=kind, code=error.state, headers=headers)
        case ClientGoneError():
            return Response(status_code=_CLIENT_GONE)
        case _:
            log.error("%s", type(error).__name__, exc_info=error)
            return internal_error(request.scope.get("state", {}).get("request_id", "-"))


def _param(location: Sequence[Any]) -> str:
    """`("body", "passages", 0, "text")` as `passages.0.text`."""
    return ".".join(str(part) for part in location[1:] if part not in _UNION_LABELS)


def _param_of(error: InputError) -> str | None:
    match error:
        case UnknownNameError():
            return error.kind
        case BudgetError():
            return "budget"
        case EmptyQueryError():
            return "query"
        case NoPassagesError():
            return "passages"
        case _:
            return None


def _code(error: Exception) -> str:
    """`UnknownNameError` as `unknown_name`."""
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
