from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REPO = Path(__file__).parents[1]
README = (REPO / "README.md").read_text("utf-8")
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(str(page.relative_to(REPO)) for page in (REPO / "docs").glob("*.md")),
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEPARATORS = {"|", "&", "&&", ";", ">"}


class Block(NamedTuple):
    """A fenced block of the README: its language, its code, and the line before its first."""

    language: str
    code: str
    line: int


def blocks() -> list[Block]:
    return [
        Block(match[1], match[2], README.count("\n", 0, match.start(2)))
        for match in FENCE.finditer(README)
    ]


def shell_commands() -> Iterator[list[str]]:
    """Every command of the bash blocks, as its words."""
    for block in blocks():
        if block.language == "bash":
            for line in logical_lines(block.code):
                yield from split_at_separators(words_of(line))


def logical_lines(code: str) -> Iterator[str]:
    """Lines, with those joined that a backslash or an open quote continues."""
    whole = ""
    for line in code.replace("\\\n", " ").splitlines():
        whole += line + "\n"
        try:
            shlex.split(whole, comments=True)
        except ValueError:
            continue
        yield whole
        whole = ""
    assert whole == "", f"a quote stays open in: {whole}"


def words_of(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def split_at_separators(words: list[str]) -> Iterator[list[str]]:
    edges = [i for i, word in enumerate(words) if word in SEPARATORS]
    for start, end in pairwise([-1, *edges, len(words)]):
        if command := words[start + 1 : end]:
            yield command


@pytest.fixture
def langchain_retriever() -> Any:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Two(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [
                Document("To rotate a key, create the new one first. Keys have names.", id="a"),
                Document("Lunch is at noon. The office is in Lisbon.", id="b"),
            ]

    return Two()


@pytest.fixture
def default_model() -> None:
    from foveate.blocks.errors import ModelNotFoundError
    from foveate.rag.models import path

    try:
        path("default")
        path("minilm")
    except ModelNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.mark.model
@pytest.mark.usefixtures("default_model")
def test_the_python_code_runs_in_order_and_prints_what_stands_below_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    langchain_retriever: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"my_retriever": langchain_retriever}
    ran = 0
    for block, after in pairwise([*blocks(), Block("", "", 0)]):
        if block.language != "python":
            continue
        # Blank lines in front, so that a traceback names the README's own line.
        exec(compile("\n" * block.line + block.code, "README.md", "exec"), names)
        printed, ran = capsys.readouterr().out, ran + 1
        if printed:
            assert (after.language, after.code.rstrip()) == ("text", printed.rstrip())
    assert ran > 0


@pytest.mark.parametrize("words", [c for c in shell_commands() if c[0] == "foveate"], ids=" ".join)
def test_every_command_of_ours_exists_with_its_options(words: list[str]) -> None:
    from typer.main import get_command

    from foveate.rag.commands.application import app

    command: Any = get_command(app)
    rest = words[1:]
    while hasattr(command, "commands") and rest:
        assert rest[0] in command.commands, f"{words}: no command {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    known = {
        o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts)
    }
    given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)}
    assert given <= known | {"--help"}, f"{words}: no option {given - known}"
    assert not hasattr(command, "commands"), f"{words}: names no command"


@pytest.mark.model
def test_the_service_answers_what_curl_sends(default_proxy: Any) -> None:
    from fastapi.testclient import TestClient

    from foveate.rag.engine import Engine
    from foveate.service.app import create_app
    from foveate.service.settings import Settings

    sent = [words for words in shell_commands() if words[0] == "curl"]
    assert sent
    with TestClient(create_app(Settings(), Engine(default_proxy))) as client:
        for words in sent:
            (address,) = [word for word in words if word.startswith("localhost:8000/")]
            body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
            path = address.removeprefix("localhost:8000")
            answer = client.request("POST" if body else "GET", path, json=body)
            assert answer.status_code == 200, answer.text


def test_every_test_that_the_readme_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", README)
    assert named
    for file, test in named:
        tree = ast.parse((REPO / file).read_text("utf-8"))
        defined = {
            n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert test in defined, f"{file} has no {test}"


def test_every_extra_that_the_readme_names_exists() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(re.findall(r"^\| `([\w-]+)` \|", README, re.MULTILINE))
    named |= {
        extra
        for extras in re.findall(r"foveate\[([\w,-]+)\]", README)
        for extra in extras.split(",")
    }
    assert named
    assert named <= project["optional-dependencies"].keys()


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_the_documentation_names_exists(page: str) -> None:
    text = (REPO / page).read_text("utf-8")
    tops = "rag|compressors|reorder|blocks|service|tests|bench|docs"
    named = re.findall(rf"`((?:{tops})/[\w./-]*)`", text)
    named += [(REPO / page).parent / link for link in re.findall(r"\]\(([\w./-]+)\)", text)]
    missing = [str(name) for name in named if not (REPO / name).exists()]
    assert missing == []
