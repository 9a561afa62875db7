from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Any]
    Failure = Callable[[Any, int], str]

KEYS = "Keys belong to a project. To rotate a key, create a new one. Names of keys are free."
LUNCH = "Lunch is at noon. The soup is hot."


def test_files_are_passages_and_the_context_is_all_that_is_printed(
    compress: Run, files: tuple[Path, Path]
) -> None:
    result = compress(*files, "--budget", "40", "--no-titles")
    assert result.exit_code == 0
    assert result.stdout == "To rotate a key, create a new one.\n"


def test_a_line_of_json_lines_is_a_passage(compress: Run, tmp_path: Path) -> None:
    rows = [{"id": "k", "title": "Keys", "text": KEYS}, {"text": LUNCH, "page": 3}]
    lines = "\n".join(map(json.dumps, rows))
    (tmp_path / "rows.jsonl").write_text(lines)
    from_file = json.loads(compress(tmp_path / "rows.jsonl", "--json").stdout)
    from_stdin = json.loads(compress("--json", stdin=lines).stdout)
    for told, second in ((from_file, "rows.jsonl#2"), (from_stdin, "stdin#2")):
        assert [p["id"] for p in told["passages"]] == ["k", second]
        assert [p["title"] for p in told["passages"]] == ["Keys", ""]
        assert told["passages"][1]["metadata"]["page"] == 3
        assert told["text"].startswith("Keys\n")


def test_standard_input_is_one_passage_unless_it_is_cut(compress: Run) -> None:
    text = f"# Keys\n\n{KEYS}\n\n# Lunch\n\n{LUNCH}\n"
    whole = json.loads(compress("-", "--json", "--budget", "1.0", stdin=text).stdout)
    assert [p["text"] for p in whole["passages"]] == [text]
    cut = json.loads(compress("--json", "--chunk", "30", stdin=text).stdout)
    assert [p["title"] for p in cut["passages"]] == ["Keys", "Lunch"]


def test_sources_can_be_numbered(compress: Run, files: tuple[Path, Path]) -> None:
    shown = compress(*files, "--numbered", "--budget", "1.0").stdout
    assert shown == f"[1] keys\n{KEYS}\n\n[2] lunch\n{LUNCH}\n"


def test_adaptive_budgets_and_shares_are_understood(
    compress: Run, files: tuple[Path, Path]
) -> None:
    for budget in ("adaptive", "0.5", "60"):
        told = json.loads(compress(*files, "--budget", budget, "--json").stdout)
        assert told["tokens_after"] <= told["limit"]
    assert told["limit"] == 60


@pytest.mark.parametrize("budget", ["0", "-3", "1.5", "nan", "much", "", "1e999"])
def test_a_budget_that_is_none_is_refused(failure: Failure, compress: Run, budget: str) -> None:
    assert "budget" in failure(compress(f"--budget={budget}", stdin=KEYS), 2)


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_an_empty_query_is_refused_before_anything_is_read(
    failure: Failure, compress: Run, query: str
) -> None:
    assert "the query is empty" in failure(compress("nowhere.txt", query=query), 2)


def test_input_that_is_no_utf8_is_refused(failure: Failure, compress: Run, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Schlüssel".encode("latin-1"))
    for result in (compress(tmp_path / "latin.txt"), compress(stdin=b"Schl\xfcssel")):
        assert "not UTF-8: byte 0xfc at offset 4" in failure(result, 2)


def test_input_that_is_no_text_is_refused(failure: Failure, compress: Run, tmp_path: Path) -> None:
    assert "binary" in failure(compress(stdin=b"\x7fELF\0\0"), 2)
    assert "no text" in failure(compress(stdin=" \n"), 2)
    assert "no file or folder" in failure(compress(tmp_path / "nowhere.txt"), 2)
    assert "line 2" in failure(compress(stdin='{"text": "a"}\n{"text": \n'), 2)
    assert "line 1" in failure(compress(stdin='{"words": "a"}'), 2)
    (tmp_path / "sound.mp3").write_bytes(b"ID3")
    assert "'.mp3'" in failure(compress(tmp_path / "sound.mp3"), 2)


def test_names_that_are_not_known_are_refused_with_those_that_are(
    failure: Failure, run: Run, model: Path
) -> None:
    for option, kind in (("--scorer", "fused"), ("--orderer", "ends-first")):
        result = run("compress", "-q", "a", "--proxy", model, option, "best", stdin=KEYS)
        message = failure(result, 2)
        assert "'best'" in message
        assert kind in message
    assert "'klingon'" in failure(
        run("compress", "-q", "a", "--tokenizer", "klingon", stdin="b"), 2
    )


def test_a_model_without_weights_is_refused(
    failure: Failure, run: Run, model: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(model, tmp_path / "weightless")
    (folder / "model.safetensors").unlink()
    message = failure(run("compress", "-q", "a", "--proxy", folder, stdin=KEYS), 1)
    assert str(folder) in message
    assert "safetensors" in message


def test_a_degraded_answer_is_an_answer_with_a_note(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foveate.blocks.proxy import Proxy

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of memory\non device 0")

    monkeypatch.setattr(Proxy, "read", fail)
    result = run("compress", "-q", "rotate a key", "--proxy", model, "--json", stdin=KEYS)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["degraded"] is True
    *_, note = result.stderr.splitlines()
    assert note == "foveate: degraded to 'lexical': RuntimeError: out of memory on device 0"


def test_explain_shows_kept_and_dropped_text(
    failure: Failure, run: Run, model: Path, tmp_path: Path
) -> None:
    asked = ("explain", "-q", "rotate a key", "--proxy", model, "--scorer", "lexical", "-b", "40")
    shown = run(*asked, stdin=KEYS)
    assert shown.exit_code == 0
    assert "‹Names of keys are free.› (0." in shown.stdout
    assert "‹dropped› (score)" in shown.stdout
    assert "To rotate a key, create a new one. (0." in shown.stdout
    page = tmp_path / "new" / "page.html"
    assert run(*asked, "--html", page, stdin=KEYS).stdout == f"{page}\n"
    assert "Names of keys are free." in page.read_text()
    (tmp_path / "file").write_text("")
    message = failure(run(*asked, "--html", tmp_path / "file" / "page.html", stdin=KEYS), 2)
    assert "cannot be written" in message
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]


def test_a_lexical_answer_loads_no_model_and_counts_as_the_proxy_does(
    model: Path, default_counts: Any
) -> None:
    code = (
        "import sys; from foveate.rag.commands.application import app\n"
        "try: app(sys.argv[1:])\n"
        "finally: print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    asked = ["compress", "-q", "rotate a key", "--scorer", "lexical", "--proxy", str(model)]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked, "-b", "40", "--json"],
        input=KEYS,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("[]\n")
    told = json.loads(done.stdout.removesuffix("[]\n"))
    assert told["tokens_after"] == default_counts(told["text"])


def test_an_empty_context_is_explained(compress: Run) -> None:
    result = compress("--budget", "2", stdin=KEYS)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == "foveate: nothing relevant fits into 2 tokens; raise --budget\n"
    lost = compress("--budget", "adaptive", stdin=LUNCH, query="xyzzy")
    assert "nothing relevant was found" in lost.stderr


def test_a_query_too_long_to_be_read_is_said(run: Run, model: Path) -> None:
    query = "rotate a key " * 100
    result = run("compress", "-q", query, "--proxy", model, "-b", "40", stdin=KEYS)
    assert result.exit_code == 0
    *_, note = result.stderr.splitlines()
    assert note.startswith("foveate: the query is too long for the proxy")
