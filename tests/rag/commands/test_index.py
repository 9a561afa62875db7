from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Any]
    Failure = Callable[[Any, int], str]


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
    failure: Failure, run: Run, tmp_path: Path, files: tuple[Path, Path]
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
    failure: Failure, run: Run, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    message = failure(run("index", tmp_path, *files, "--embedder", "none"), 2)
    assert "no index" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys.md", "lunch.txt"]
    assert "no index" in failure(run("ask", tmp_path / "none", "a"), 2)
    assert "no index" in failure(run("index", tmp_path / "none", "--stats"), 2)
    told = failure(run("ask", tmp_path / "none", "a"), 2)
    assert f"foveate index {tmp_path / 'none'} PATH" in told
    assert not (tmp_path / "none").exists()
    assert run("index", tmp_path / "none").exit_code == 2


def test_an_index_of_another_embedder_is_refused(
    failure: Failure, run: Run, index: Path, model: Path
) -> None:
    message = failure(run("index", index, "--stats", "--embedder", _embedder(model)), 1)
    assert "built without an embedder" in message


def test_a_truncated_index_is_refused(failure: Failure, run: Run, index: Path) -> None:
    store = max(index.glob("*.*"), key=lambda path: path.stat().st_size)
    store.write_bytes(store.read_bytes()[:1000])
    message = failure(run("ask", index, "rotate a key"), 1)
    assert store.name in message


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
