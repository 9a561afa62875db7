from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from foveate import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Any]

FOVEATE = [sys.executable, "-c", "from foveate.rag.cli import main; main()"]
KEYS = "Keys belong to a project. To rotate a key, create a new one. Names of keys are free."


def test_help_comes_at_once_and_loads_no_model_code() -> None:
    code = (
        "import sys; from foveate.rag.cli import main; sys.argv = ['foveate', '--help']\n"
        "try: main()\n"
        "finally: print(sorted({'torch', 'transformers', 'numpy', 'rich'} & set(sys.modules)))"
    )
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        best = min(best, time.perf_counter() - start)
    assert "compress" in done.stdout
    assert done.stdout.endswith("[]\n")
    assert best < 2  # half a second on a machine that has nothing else to do


@pytest.mark.parametrize(
    "command",
    ["compress", "explain", "index", "ask", "models", "calibrate", "serve", "demo"],
)
def test_each_command_explains_itself(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert command in run("--help").stdout
    assert "Usage:" in result.stdout


def test_it_tells_its_version(run: Run) -> None:
    assert run("--version").stdout == f"foveate {__version__}\n"


def test_without_typer_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; from foveate.rag.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == ("foveate: typer is not installed; run: pip install 'foveate[cli]'\n")


def test_debug_shows_where_an_error_came_from() -> None:
    for more, frames in ((), False), (("--debug",), True):
        command = [*FOVEATE, *more, "compress", "-q", "a", "nowhere.txt"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode != 0
        assert ("Traceback" in done.stderr) is frames


def test_usage_errors_exit_with_2(run: Run) -> None:
    for wrong in (["compress"], ["fly"], ["ask"], ["compress", "-q", "a", "--timeout", "soon"]):
        result = run(*wrong)
        assert result.exit_code == 2, wrong
        assert "Usage:" in result.stderr


def test_what_goes_into_a_pipe_is_utf8_whatever_the_locale(model: Path) -> None:
    text = "Ключ \U0001f511 ist alt. \ud800"
    done = subprocess.run(
        [*FOVEATE, "compress", "-q", "Ключ", "-b", "1.0", "--proxy", str(model), "--json"],
        input=json.dumps({"text": text}).encode(),
        capture_output=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    (passage,) = json.loads(done.stdout.decode("utf-8"))["passages"]
    assert passage["text"].startswith("Ключ \U0001f511 ist alt.")


def test_a_reader_that_leaves_early_ends_it_quietly(model: Path) -> None:
    command = [*FOVEATE, "compress", "-q", "a", "-b", "1.0", "--proxy", str(model)]
    with subprocess.Popen(
        [*command, "--scorer", "lexical"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(KEYS.encode())
        process.stdin.close()
        said = process.stderr.read().decode()
    assert [line for line in said.splitlines() if "no heads were chosen" not in line] == []


@pytest.mark.parametrize("command", ["compress", "explain", "ask", "serve"])
def test_help_names_every_method_there_is(run: Run, command: str) -> None:
    from foveate import ORDERERS, SCORERS

    said = "".join(run(command, "--help").stdout.split())
    assert ",".join(SCORERS.names()) in said
    assert ",".join(ORDERERS.names()) in said
