from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from foveate.blocks.errors import GeneratorError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Any]
    Failure = Callable[[Any, int], str]


def test_files_become_an_index_that_can_be_asked(run: Run, index: Path, model: Path) -> None:
    asked = ("ask", index, "rotate", "a", "key", "--proxy", model, "--scorer", "lexical")
    context = run(*asked, "--no-generate", "-b", "45")
    assert context.exit_code == 0, context.stderr
    assert context.stdout.startswith("[1] keys\n")
    assert "To rotate a key" in context.stdout
    told = json.loads(run(*asked, "--no-generate", "--json").stdout)
    assert [p["id"] for p in told["passages"]] == ["keys.md#0"]


def test_an_answer_names_its_sources(
    run: Run, index: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foveate.rag.generators import TransformersGenerator

    said = "Create a new one [1]. Then rest [7]."
    monkeypatch.setattr(
        TransformersGenerator, "stream", lambda *_, **__: iter([said[:9], said[9:]])
    )
    asked = ("ask", index, "rotate a key", "--proxy", model, "--scorer", "lexical")
    expected = f"{said}\n\n[1] keys (keys.md#0)\n[7] (there is no such source)\n"
    assert run(*asked).stdout == expected
    assert run(*asked, "--stream").stdout == expected
    told = json.loads(run(*asked, "--json").stdout)
    assert told["answer"] == said
    assert [(c["number"], c["id"], c["seen"]) for c in told["citations"]] == [
        (1, "keys.md#0", True),
        (7, "", False),
    ]


def test_the_proxy_itself_can_answer(run: Run, index: Path, model: Path) -> None:
    result = run("ask", index, "rotate a key", "--proxy", model, "--max-tokens", 3, "--json")
    assert result.exit_code == 0, result.stderr
    assert set(json.loads(result.stdout)["timings"]) == {"retrieve", "context", "generate"}


def test_generators_that_cannot_be_are_refused(
    failure: Failure, run: Run, index: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("ask", index, "rotate a key", "--proxy", model, "--scorer", "lexical")
    for name in ("gpt", "openai:", "local:x"):
        assert f"{name!r}" in failure(run(*asked, "--generator", name), 2)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert "OPENAI_API_KEY" in failure(run(*asked, "--generator", "openai:x"), 2)
    assert run(*asked, "--stream", "--json").exit_code == 2
    assert "'bm25'" in failure(run(*asked, "--mode", "bm25"), 2)
    assert "no vectors" in failure(run(*asked, "--mode", "dense"), 2)


def test_a_generator_that_fails_ends_in_a_line(
    failure: Failure, run: Run, index: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foveate.rag.generators import OpenAIGenerator

    def fail(*_: object, **__: object) -> str:
        raise GeneratorError("no answer\nfrom the endpoint")

    monkeypatch.setattr(OpenAIGenerator, "generate", fail)
    result = run(
        *("ask", index, "rotate a key", "--proxy", model, "--scorer", "lexical"),
        *("--generator", "openai:m", "--base-url", "http://127.0.0.1:9/v1"),
    )
    assert failure(result, 1) == "foveate: no answer from the endpoint"


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_nothing_is_answered_from_an_empty_context(
    failure: Failure, run: Run, index: Path, model: Path, stream: tuple[str, ...]
) -> None:
    asked = ("ask", index, "rotate a key", "--proxy", model, "--scorer", "lexical", *stream)
    told = failure(run(*asked, "-b", "2"), 2)
    assert told == "foveate: no answer: nothing relevant fits into 2 tokens; raise --budget"
