"""The seam of this package: a generator turns a context into an answer.

One method is enough, `stream`. The rest follows from it, unless a generator can do better.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from foveate.blocks.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from collections.abc import Generator as PythonGenerator

    from foveate.rag.context import Context

MAX_TOKENS = 256
"""Tokens of an answer, unless the caller says otherwise."""


class Generator(ABC):
    """Answers the question of a context from its sources.

    Attributes:
        name: What to call it in messages and results.
    """

    name: str

    @abstractmethod
    def stream(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> PythonGenerator[str]:
        """The answer, piece by piece. Closing the generator calls the rest off.

        Args:
            context: What it sees.
            max_tokens: Longest answer, in the generator's own tokens.
            deadline: Checked while it answers.

        Raises:
            InputError: The prompt does not fit, or `max_tokens` is not positive.
            GeneratorError: It did not answer.
            DeadlineExceededError: The deadline passed first.
        """

    def generate(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> str:
        """The answer. Raises what `stream` raises."""
        return "".join(self.stream(context, max_tokens=max_tokens, deadline=deadline))

    async def agenerate(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> str:
        """`generate` without blocking the event loop; cancelling it calls the work off."""
        pieces = self.astream(context, max_tokens=max_tokens, deadline=deadline)
        return "".join([piece async for piece in pieces])

    async def astream(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> AsyncIterator[str]:
        """`stream` without blocking the event loop."""
        deadline = deadline or Deadline()
        pieces = self.stream(context, max_tokens=max_tokens, deadline=deadline)
        step: asyncio.Future[str | None] | None = None
        try:
            while True:
                step = asyncio.ensure_future(asyncio.to_thread(next, pieces, None))
                piece = await asyncio.shield(step)
                if piece is None:
                    return
                yield piece
        finally:
            if step is not None and not step.done():  # cancelled while a thread is still in it
                deadline.cancel()
                await asyncio.wait([step])
                step.exception()
            pieces.close()
