"""From a request's body to a call of the engine: what cannot work is refused before it queues."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from foveate.blocks.candidates import check_query
from foveate.blocks.errors import InputError
from foveate.compressors.base import SCORERS
from foveate.compressors.budget import Adaptive
from foveate.compressors.budget import check as check_budget
from foveate.reorder.base import ORDERERS

from .fields import AdaptiveBudget

if TYPE_CHECKING:
    from foveate.blocks.counting import TokenCounter
    from foveate.compressors.budget import Budget

    from .engine import Call, EngineRunner
    from .fields import BudgetField
    from .settings import Settings


def budget_of(field: BudgetField) -> Budget:
    """The engine's budget for a body's."""
    if isinstance(field, AdaptiveBudget):
        return Adaptive(field.mass, field.floor, field.limit)
    return field


def timeout_of(asked: float | None, settings: Settings) -> float:
    """Seconds that a request has: what it asks for, within the service's own limit."""
    return min(asked or settings.timeout, settings.timeout)


async def counter_of(runner: EngineRunner, name: str | None) -> TokenCounter | None:
    """The counter for a tiktoken name, fetched off the event loop and off the engine's thread.

    Raises:
        InputError: tiktoken has no such encoding, or its vocabulary is not on this machine.
    """
    if name is None:
        return None
    try:
        return await asyncio.to_thread(runner.engine.counter, name)
    except InputError as error:
        if isinstance(error.__cause__, OSError):  # its text names hosts and paths of ours
            raise InputError(f"the service does not hold the vocabulary of {name!r}") from error
        raise


def check(call: Call, settings: Settings, *, field: str = "passages") -> Call:
    """Refuse a call that the engine would refuse, before it waits for its turn.

    Raises:
        InputError: The query is blank, the budget or a name is unknown, or there is too much.
    """
    check_query(call.query)
    if len(call.passages) > settings.max_passages:
        raise InputError(
            f"{len(call.passages):,} {field} given; at most {settings.max_passages:,} are allowed "
            "in one request"
        )
    check_budget(call.options.budget)
    if call.scorer is not None:
        SCORERS.check(call.scorer)
    if call.orderer is not None:
        ORDERERS.check(call.orderer)
    return call


def prepare_checks() -> None:
    """Let registries search installed packages now, and not while a request waits."""
    SCORERS.check("lexical")
    ORDERERS.check("original")
