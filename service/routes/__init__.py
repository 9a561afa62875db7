"""One module a concern; each holds a `router`."""

from __future__ import annotations

from typing import Any

from ..schemas import ErrorResponse

FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "Well-formed, but it cannot be used"},
    413: {"model": ErrorResponse, "description": "The body is too large"},
    422: {"model": ErrorResponse, "description": "The body is not of the schema"},
    429: {"model": ErrorResponse, "description": "The queue is full; see Retry-After"},
    503: {"model": ErrorResponse, "description": "The engine is not ready; see Retry-After"},
}
"""The errors of every route that does model work."""
