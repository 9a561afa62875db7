"""Progress of long work, told to whoever asks: the stage, how far it is, and where it ends."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the steps done, and the steps in all (None when that is not known).

What it raises ends the work, and the work leaves nothing half done.
"""


def silent(_stage: str, _done: int, _total: int | None, /) -> None:
    """Progress for callers that want none."""
