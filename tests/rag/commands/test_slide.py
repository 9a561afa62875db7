from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from foveate.rag.commands.application import app

if TYPE_CHECKING:
    from pathlib import Path

NEEDLE = "The ship Velmar carried amber."
TEXT = "Fog lay over the quay all day.\r\n" * 400 + NEEDLE + "\r\n" + "Rain fell. " * 900
ASK = [
    "slide",
    "-q",
    "What did the ship Velmar carry?",
    "--scorer",
    "lexical",
    "-b",
    "40",
]


@pytest.mark.model
def test_a_file_of_any_length_is_cut_down_to_what_answers(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(TEXT.encode())
    done = CliRunner().invoke(app, [*ASK, str(path)])
    assert done.exit_code == 0
    assert NEEDLE in done.stdout


@pytest.mark.model
def test_json_says_where_in_the_file_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(TEXT.encode())
    found = json.loads(CliRunner().invoke(app, [*ASK, "--json", str(path)]).stdout)
    assert found["characters"] == len(TEXT)
    for excerpt in found["excerpts"]:
        assert TEXT[excerpt["start"] : excerpt["end"]] == excerpt["text"]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*ASK, str(tmp_path / "nothing.txt")])
    assert done.exit_code != 0
