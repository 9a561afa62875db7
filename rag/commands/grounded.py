"""No answer from nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foveate.blocks.errors import BudgetError, GeneratorError
from foveate.rag.generators.base import MAX_TOKENS, Generator

from .console import why_empty

if TYPE_CHECKING:
    from collections.abc import Generator as PythonGenerator

    from foveate.blocks.deadline import Deadline
    from foveate.rag.context import Context


class Grounded(Generator):
    """A generator that is not asked where there is no text to answer from.

    Args:
        generator: Answers where there is some.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator, self.name = generator, generator.name

    def stream(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> PythonGenerator[str]:
        """See `Generator.stream`.

        Raises:
            BudgetError: Nothing fits into the budget.
            GeneratorError: Nothing relevant was found.
        """
        _check(context)
        return self._generator.stream(context, max_tokens=max_tokens, deadline=deadline)

    def generate(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> str:
        """See `Generator.generate`. Raises what `stream` raises."""
        _check(context)
        return self._generator.generate(context, max_tokens=max_tokens, deadline=deadline)


def _check(context: Context) -> None:
    if not context.text:
        fault = BudgetError if context.limit < context.tokens_before else GeneratorError
        raise fault(f"no answer: {why_empty(context)}")
