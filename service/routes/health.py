"""Is the process up, and does it take requests?"""

from __future__ import annotations

from fastapi import APIRouter, Response

from ..dependencies import Runner  # noqa: TC001 - FastAPI reads annotations when it runs
from ..schemas import Health, Readiness

router = APIRouter(tags=["health"])


@router.get("/health")
async def health() -> Health:
    """200 as long as the process answers at all."""
    return Health()


@router.get("/ready", responses={503: {"model": Readiness, "description": "It does not"}})
async def ready(runner: Runner, response: Response) -> Readiness:
    """200 if requests are taken; 503 while the model loads, if it could not, and while draining."""
    state = runner.state
    response.status_code = 200 if state == "ready" else 503
    return Readiness(status=state, waiting=runner.waiting)
