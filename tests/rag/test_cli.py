from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from foveate import __version__
from foveate.blocks.errors import GeneratorError
from foveate.rag.commands import console
from foveate.rag.commands.application import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Run = Callable[..., Any]

FOVEATE = [sys.executable, "-c", "from foveate.rag.cli import main; main()"]
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


def failure(result: Any, code: int) -> str:
    """The one line that an unsuccessful command says."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if "no heads were chosen" not in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("foveate: ")
    return lines[0]


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
def test_a_budget_that_is_none_is_refused(compress: Run, budget: str) -> None:
    assert "budget" in failure(compress(f"--budget={budget}", stdin=KEYS), 2)


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_an_empty_query_is_refused_before_anything_is_read(compress: Run, query: str) -> None:
    assert "the query is empty" in failure(compress("nowhere.txt", query=query), 2)


def test_input_that_is_no_utf8_is_refused(compress: Run, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Schlüssel".encode("latin-1"))
    for result in (compress(tmp_path / "latin.txt"), compress(stdin=b"Schl\xfcssel")):
        assert "not UTF-8: byte 0xfc at offset 4" in failure(result, 2)


def test_input_that_is_no_text_is_refused(compress: Run, tmp_path: Path) -> None:
    assert "binary" in failure(compress(stdin=b"\x7fELF\0\0"), 2)
    assert "no text" in failure(compress(stdin=" \n"), 2)
    assert "no file or folder" in failure(compress(tmp_path / "nowhere.txt"), 2)
    assert "line 2" in failure(compress(stdin='{"text": "a"}\n{"text": \n'), 2)
    assert "line 1" in failure(compress(stdin='{"words": "a"}'), 2)
    (tmp_path / "sound.mp3").write_bytes(b"ID3")
    assert "'.mp3'" in failure(compress(tmp_path / "sound.mp3"), 2)


def test_names_that_are_not_known_are_refused_with_those_that_are(run: Run, model: Path) -> None:
    for option, kind in (("--scorer", "fused"), ("--orderer", "ends-first")):
        result = run("compress", "-q", "a", "--proxy", model, option, "best", stdin=KEYS)
        message = failure(result, 2)
        assert "'best'" in message
        assert kind in message
    assert "'klingon'" in failure(
        run("compress", "-q", "a", "--tokenizer", "klingon", stdin="b"), 2
    )


def test_a_model_without_weights_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(model, tmp_path / "weightless")
    (folder / "model.safetensors").unlink()
    message = failure(run("compress", "-q", "a", "--proxy", folder, stdin=KEYS), 1)
    assert str(folder) in message
    assert "safetensors" in message


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


def test_explain_shows_kept_and_dropped_text(run: Run, model: Path, tmp_path: Path) -> None:
    asked = ("explain", "-q", "rotate a key", "--proxy", model, "--scorer", "lexical", "-b", "40")
    shown = run(*asked, stdin=KEYS)
    assert shown.exit_code == 0
    assert "‹Names of keys are free.›" in shown.stdout
    page = tmp_path / "new" / "page.html"
    assert run(*asked, "--html", page, stdin=KEYS).stdout == f"{page}\n"
    assert "Names of keys are free." in page.read_text()
    (tmp_path / "file").write_text("")
    message = failure(run(*asked, "--html", tmp_path / "file" / "page.html", stdin=KEYS), 2)
    assert "cannot be written" in message
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]


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


def test_files_become_an_index_that_can_be_asked(run: Run, index: Path, model: Path) -> None:
    asked = ("ask", index, "rotate", "a", "key", "--proxy", model, "--scorer", "lexical")
    context = run(*asked, "--no-generate", "-b", "45")
    assert context.exit_code == 0, context.stderr
    assert context.stdout.startswith("[1] keys\n")
    assert "To rotate a key" in context.stdout
    told = json.loads(run(*asked, "--no-generate", "--json").stdout)
    assert [p["id"] for p in told["passages"]] == ["keys.md#0"]


def test_indexing_again_changes_only_what_changed(
    run: Run, index: Path, files: tuple[Path, Path]
) -> None:
    def change(*args: object) -> Any:
        return json.loads(run("index", index, *args, "--json").stdout)

    assert change(*files)["unchanged"] == 2
    files[1].write_text("Dinner is at eight.")
    assert change(*files) == {"added": 0, "replaced": 1, "unchanged": 1, "removed": 0}
    assert change("--delete", "lunch.txt", "--stats")["passages"] == 1
    assert run("index", index, "--delete", "keys.md#0").stdout == "deleted: 1\n"
    assert run("index", index, "--repair").stdout == "mended: nothing\n"


def test_a_file_that_cannot_be_read_leaves_no_index_behind(
    run: Run, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    bad = tmp_path / "zz.txt"
    bad.write_bytes(b"\xff\xfe\xfd")
    folder = tmp_path / "other.index"
    assert "not UTF-8" in failure(run("index", folder, *files, bad, "--embedder", "none"), 2)
    assert not folder.exists()
    folder.mkdir()
    failure(run("index", folder, *files, bad, "--embedder", "none"), 2)
    assert list(folder.iterdir()) == []
    notes = run("index", folder, *files, bad, "--embedder", "none", "--skip-errors")
    assert notes.exit_code == 0
    assert "left out" in notes.stderr
    assert "added: 2" in notes.stdout


def test_a_folder_that_is_no_index_stays_as_it_is(
    run: Run, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    message = failure(run("index", tmp_path, *files, "--embedder", "none"), 1)
    assert "no index" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys.md", "lunch.txt"]
    assert "no index" in failure(run("ask", tmp_path / "none", "a"), 1)
    assert "no index" in failure(run("index", tmp_path / "none", "--stats"), 1)
    assert not (tmp_path / "none").exists()
    assert run("index", tmp_path / "none").exit_code == 2


def test_an_index_of_another_embedder_is_refused(run: Run, index: Path, model: Path) -> None:
    message = failure(run("index", index, "--stats", "--embedder", _embedder(model)), 1)
    assert "built without an embedder" in message


def test_a_truncated_index_is_refused(run: Run, index: Path) -> None:
    store = max(index.glob("*.*"), key=lambda path: path.stat().st_size)
    store.write_bytes(store.read_bytes()[:1000])
    message = failure(run("ask", index, "rotate a key"), 1)
    assert store.name in message


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
    run: Run, index: Path, model: Path, monkeypatch: pytest.MonkeyPatch
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
    run: Run, index: Path, model: Path, monkeypatch: pytest.MonkeyPatch
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


def test_models_are_listed_and_found(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    listed = run("models", "list").stdout
    assert "smollm2-135m-instruct" in listed
    assert "(not fetched)" in listed
    assert {row["installed"] for row in json.loads(run("models", "list", "--json").stdout)} == {
        False
    }
    assert "foveate models pull minilm" in failure(run("models", "path", "minilm"), 1)
    assert "'minilmm'" in failure(run("models", "pull", "minilmm"), 2)


def test_calibrating_writes_what_reading_then_uses(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foveate.compressors import calibrate, probes

    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path / "home"))
    record = {
        "question": "How do I rotate a key?",
        "passages": [
            {"title": "Keys", "sentences": ["Keys are free. ", "To rotate a key, make one."]},
            {"title": "Lunch", "sentences": ["Lunch is at noon. ", "The soup is hot."]},
        ],
        "evidence": [[0, 1]],
    }
    data = tmp_path / "records.jsonl"
    data.write_text("\n".join([json.dumps(record)] * 2))
    shipped = shutil.copy(data, tmp_path / "shipped.jsonl")
    monkeypatch.setattr(calibrate, "shipped_set", lambda: Path(shipped))
    result = run("calibrate", model, "--data", data)
    assert result.exit_code == 0, result.stderr
    written = Path(result.stdout.strip())
    assert written.parent == tmp_path / "home" / "probes"
    probe = probes.load(written)
    assert "records.jsonl" in probe.provenance["source"]
    assert probes.find(probe.fingerprint) == probe
    assert "run: foveate calibrate" not in result.stderr
    asked = run("compress", "-q", "rotate a key", "--proxy", model, stdin=KEYS)
    assert "no heads were chosen" not in asked.stderr
    probes.find.cache_clear()

    data.write_text('{"question": "?"}')
    assert "line 1" in failure(run("calibrate", model, "--data", data), 2)
    missing = run("calibrate", model, "--data", tmp_path / "nowhere")
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr


def test_serve_hands_its_options_to_the_service(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    service = pytest.importorskip("foveate.service.app")
    seen = []
    monkeypatch.setattr(service, "serve", seen.append)
    monkeypatch.setenv("FOVEATE_HOST", "0.0.0.0")
    assert run("serve", "--port", "9000", "--proxy", "small").exit_code == 0
    assert (seen[0].host, seen[0].port, seen[0].model) == ("0.0.0.0", 9000, "small")
    message = failure(run("serve", "--log-level", "loud"), 2)
    assert "log_level" in message
    assert len(seen) == 1


def test_progress_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with console.progress() as report:
        for done in range(1400, 1500):
            report("embed", done, 2000)
        now += console.LINE_EVERY_S
        report("embed", 1500, 2000)
        report("embed", 1501, 2000)
        now += console.LINE_EVERY_S
        report("commit", 0, None)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "foveate: embed 1,500 of 2,000\nfoveate: commit ...\n"


def test_progress_on_a_terminal_is_a_bar_without_colour_if_so_wished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = {}
    monkeypatch.setenv("TERM", "xterm-256color")
    for wish in ("", "1"):
        monkeypatch.setenv("NO_COLOR", wish)
        monkeypatch.setattr(sys, "stderr", Terminal())
        with console.progress() as report:
            report("embed", 1, 2)
        shown[wish] = sys.stderr.getvalue()  # type: ignore[attr-defined]
        assert "embed" in shown[wish]
        assert "1/2" in shown[wish]
    assert "\x1b[38;" in shown[""]
    assert "\x1b[38;" not in shown["1"]


def _embedder(model: Path) -> Path:
    """A sentence-transformers folder around the tiny model."""
    folder = shutil.copytree(model, model.parent / "embedder", dirs_exist_ok=True)
    steps = [
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(steps))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder
