from __future__ import annotations

import pydoc
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from foveate.rag import _stdlib, api, demo
from foveate.rag.commands.application import app
from foveate.rag.loaders import Document

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

RENDERED = """\
Python Library Documentation: module kettle

NAME
    kettle - Boils.

DESCRIPTION
    Boils water.

    >>> boil(1)
    True

CLASSES
    builtins.object
        Kettle

    class Kettle(builtins.object)
     |  Kettle(litres)
     |
     |  Holds water.
     |
     |  Method resolution order:
     |      Kettle
     |      builtins.object
     |
     |  Methods defined here:
     |
     |  __init__(self, litres)
     |      Initialize self.
     |
     |  hum(self)
     |
     |  async pour(self, into=<Cup object at 0x7f00>)
     |      Empty it.
     |
     |      Slowly.
     |
     |  ----------------------------------------------------------------------
     |  Readonly properties defined here:
     |
     |  litres
     |      How much it holds.
     |
     |  ----------------------------------------------------------------------
     |  Methods inherited from builtins.object:
     |
     |  melt(self)
     |      Inherited.

FUNCTIONS
    boil(litres)
        Whether it boils.

    wait()

DATA
    __all__ = ['Kettle', 'boil']
"""


def test_a_module_gives_its_description_functions_and_classes() -> None:
    found = {document.id: document for document in _stdlib.parse("kettle", RENDERED)}
    assert list(found) == ["kettle", "kettle()", "kettle.Kettle"]
    assert found["kettle"].text == "Boils.\n\nBoils water.\n\n>>> boil(1)\nTrue"
    assert found["kettle()"].text == "### boil\nboil(litres)\n    Whether it boils."
    assert found["kettle()"].title == "kettle"


def test_a_class_gives_what_it_says_itself() -> None:
    *_, kettle = _stdlib.parse("kettle", RENDERED)
    assert kettle.title == "kettle.Kettle"
    assert kettle.text.split("\n\n") == [
        "Kettle(litres)",
        "Holds water.",
        "### pour\nasync pour(self, into=<Cup object>)\n    Empty it.",
        "    Slowly.",
        "### litres\nlitres\n    How much it holds.",
    ]


@pytest.mark.parametrize("name", ["json", "statistics", "itertools", "os.path", "csv"])
def test_real_modules_lose_no_sentence_of_their_description(name: str) -> None:
    module = _stdlib._imported(name)
    assert module is not None
    text = "\n".join(document.text for document in _stdlib.documents([name]))
    lines = [line.strip() for line in pydoc.getdoc(module).splitlines()]
    assert any(lines)
    assert [line for line in lines if line not in text] == []
    assert " |  " not in text
    assert " at 0x" not in text


def test_modules_that_are_not_there_are_passed_over_and_progress_counts_them() -> None:
    told: list[tuple[str, int, int | None]] = []
    names = ["bisect", "no_such_module", "heapq"]
    found = list(_stdlib.documents(names, progress=lambda *step: told.append(step)))
    assert {document.id.rstrip("()") for document in found} == {"bisect", "heapq"}
    assert told == [("read", 1, 3), ("read", 2, 3), ("read", 3, 3)]


def test_the_text_is_the_same_at_every_run() -> None:
    assert list(_stdlib.documents(["shutil"])) == list(_stdlib.documents(["shutil"]))


@pytest.fixture
def documents() -> list[Document]:
    return [Document(f"Word {n} is of no use. It is said.", f"d{n}") for n in range(3)]


@pytest.fixture
def reopen(tmp_path: Path) -> Any:
    return partial(demo.open_index, tmp_path / "index", embedder=None)


def test_the_index_is_kept_for_the_next_run(reopen: Any, documents: list[Document]) -> None:
    with reopen(documents=documents) as index:
        assert len(index) == 3
    with reopen(documents=[]) as index:
        assert len(index) == 3
    with reopen(documents=documents[:2], fresh=True) as index:
        assert len(index) == 2


def test_a_damaged_or_unfinished_index_is_made_anew(
    reopen: Any, documents: list[Document], tmp_path: Path
) -> None:
    with reopen(documents=[]) as index:
        assert len(index) == 0
    with reopen(documents=documents) as index:
        assert len(index) == 3
    (tmp_path / "index" / "manifest.json").write_text("{")
    with reopen(documents=documents[:1]) as index:
        assert len(index) == 1


def test_each_python_and_each_kind_has_an_index_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    folders = {demo.index_folder(), demo.index_folder(lexical=True)}
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    folders |= {demo.index_folder(), demo.index_folder(lexical=True)}
    assert len(folders) == 4
    assert {folder.parent for folder in folders} == {tmp_path / "demo"}


def test_the_command_tells_what_it_does_and_prints_the_page_last(
    tmp_path: Path, tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(api, "load_proxy", lambda: tiny_proxy)
    monkeypatch.setattr(demo, "RETRIEVED", 3)
    monkeypatch.setattr(_stdlib, "documents", partial(_stdlib.documents, ["html"]))
    monkeypatch.setattr(demo, "QUESTIONS", ("How to escape <b>?", "not asked"))
    page = tmp_path / "out" / "demo.html"
    result = CliRunner().invoke(app, ["demo", "--quick", "--out", str(page)])
    assert result.exit_code == 0, result.output
    assert "question 1 of 1" in result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == str(page)
    for name in ("retrieved", "kept", "tokens", "order", "context", "best units", "answer"):
        assert any(line.strip().startswith(name) for line in lines), name
    html = page.read_text("utf-8")
    assert "How to escape &lt;b&gt;?" in html
    assert "not asked" not in html


@pytest.mark.model
def test_the_default_model_finds_the_answer_in_the_documentation(
    tmp_path: Path, default_proxy: Proxy
) -> None:
    documents = _stdlib.documents(["json", "html", "collections", "decimal"])
    with demo.open_index(tmp_path / "index", documents=documents, embedder=None) as index:
        pipeline = demo.pipeline_for(index.retriever(), default_proxy)
        found = demo.ask(pipeline, demo.QUESTIONS[0])
        page = demo.page([found], demo.about(index))
    cold = found.cold
    text = " ".join(cold.text.split())
    assert "parse_float=Decimal" in text
    assert "parser for JSON floats" in text
    assert cold.tokens_after <= cold.limit < 0.31 * cold.tokens_before
    assert found.answer.text
    assert found.again.text == cold.text
    runs = found.runs()
    assert runs["warm"]["encode"] < runs["cold"]["encode"] / 2
    assert "parse_float" in page
