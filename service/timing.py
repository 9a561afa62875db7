"""Where the time of a request went, for the body and for the `Server-Timing` header."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .engine import Served


def timings_ms(served: Served, arrived: float) -> dict[str, float]:
    """Milliseconds by stage: "queue" first, "total" last and since `arrived` (`time.monotonic`)."""
    stages = {name: ms for name, ms in served.context.timings.items() if name != "total"}
    total = (time.monotonic() - arrived) * 1000
    return {"queue": served.queue_ms, **stages, "total": total}


def server_timing(timings: Mapping[str, float]) -> str:
    """The value of a `Server-Timing` header (https://www.w3.org/TR/server-timing/)."""
    return ", ".join(f"{name};dur={ms:.3f}" for name, ms in timings.items())
