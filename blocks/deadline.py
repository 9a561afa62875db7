"""A point in time by which an answer is due."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from .errors import DeadlineExceededError


@dataclass(slots=True, eq=False, weakref_slot=True)
class Deadline:
    """Time left, and a way to call the work off from another thread.

    Args:
        seconds: Time allowed from now on; None is no limit.
    """

    seconds: float | None = None
    _start: float = field(default_factory=time.monotonic)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def left(self) -> float | None:
        """Seconds left, never below 0; None if there is no limit."""
        if self.seconds is None:
            return None
        return max(0.0, self.seconds - (time.monotonic() - self._start))

    def cancel(self) -> None:
        """Let the next check fail."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise if the time has passed or the work was called off.

        Raises:
            DeadlineExceededError: It has, or it was.
        """
        if self._cancelled.is_set() or self.left() == 0.0:
            raise DeadlineExceededError(f"not done within {self.seconds} s")
