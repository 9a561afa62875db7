from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken

from foveate.blocks.errors import InputError, UnknownNameError
from foveate.blocks.passage import Passage
from foveate.compressors.budget import Adaptive
from foveate.rag.engine import Options
from foveate.service.calls import budget_of, check, counter_of, timeout_of
from foveate.service.engine import Call, EngineRunner
from foveate.service.fields import AdaptiveBudget
from foveate.service.settings import Settings

if TYPE_CHECKING:
    from foveate.rag.engine import Engine


def test_budgets_keep_their_meaning() -> None:
    assert budget_of(800) == 800
    assert isinstance(budget_of(800), int)
    assert budget_of(0.5) == 0.5
    assert budget_of(AdaptiveBudget(mass=0.8, limit=100)) == Adaptive(0.8, 0.05, 100)


@pytest.mark.parametrize(("asked", "given"), [(None, 10), (3, 3), (30, 10)])
def test_a_request_can_only_ask_for_less_time(asked: float | None, given: float) -> None:
    assert timeout_of(asked, Settings(timeout=10)) == given


async def test_a_vocabulary_that_cannot_be_fetched_is_said_without_hosts_and_paths(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(name: str) -> Any:
        raise ConnectionError("proxy.internal:3128 refused")

    monkeypatch.setattr(tiktoken, "get_encoding", offline)
    runner = EngineRunner(lambda: contextlib.nullcontext(engine), max_queue=1)
    runner.start()
    await runner.loaded()
    assert await counter_of(runner, None) is None
    with pytest.raises(InputError, match="does not hold the vocabulary of 'o200k_base'") as refusal:
        await counter_of(runner, "o200k_base")
    assert "internal" not in str(refusal.value)
    await runner.close(20)


def test_names_are_taken_as_the_engine_takes_them() -> None:
    asked = Call("Who?", [Passage("A.")], Options(), 0.0, "retrieval_heads", "attention_sorting")
    assert check(asked, Settings()) is asked
    for wrong in ({"scorer": "best"}, {"orderer": "best"}):
        with pytest.raises(UnknownNameError, match="'best'; choose one of: "):
            check(replace(asked, **wrong), Settings())
