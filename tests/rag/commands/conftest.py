from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from foveate.rag.commands.application import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

    Run = Callable[..., Any]
    Failure = Callable[[Any, int], str]

KEYS = "Keys belong to a project. To rotate a key, create a new one. Names of keys are free."
LUNCH = "Lunch is at noon. The soup is hot."


@pytest.fixture(scope="module")
def model(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Any, tiny_tokenizer: Any
) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def default_counts(tiny_proxy: Proxy) -> Callable[[str], int]:
    """What the proxy of these tests counts."""
    return tiny_proxy.count_tokens


@pytest.fixture
def run() -> Run:
    def invoke(*args: object, stdin: str | bytes | None = None) -> Any:
        return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)

    return invoke


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    keys, lunch = tmp_path / "keys.md", tmp_path / "lunch.txt"
    keys.write_text(KEYS)
    lunch.write_text(LUNCH)
    return keys, lunch


@pytest.fixture
def index(tmp_path: Path, run: Run, files: tuple[Path, Path]) -> Path:
    folder = tmp_path / "an.index"
    result = run("index", folder, *files, "--embedder", "none")
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def compress(run: Run, model: Path) -> Run:
    def invoke(*args: object, stdin: str | bytes | None = None, query: str = "rotate a key") -> Any:
        return run(
            *("compress", "-q", query, "--proxy", model, "--scorer", "lexical"), *args, stdin=stdin
        )

    return invoke


@pytest.fixture
def failure() -> Failure:
    """The one line that an unsuccessful command says."""

    def told(result: Any, code: int) -> str:
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        lines = [line for line in result.stderr.splitlines() if "no heads were chosen" not in line]
        assert len(lines) == 1, lines
        assert lines[0].startswith("foveate: ")
        return lines[0]

    return told
