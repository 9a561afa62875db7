from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from foveate.blocks.errors import InputError
from foveate.compressors import readers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def default_folder() -> Path:
    from foveate.blocks.errors import ModelNotFoundError
    from foveate.rag import models

    try:
        return models.path("default")
    except ModelNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    return tmp_path


def trained(folder: Path, fingerprint: str) -> Path:
    folder.mkdir(parents=True)
    record = {"fingerprint": fingerprint, "heads": [[1, 2], [0, 3]]}
    (folder / readers.TRAINING).write_text(json.dumps(record))
    return folder


def test_a_reader_is_found_by_the_weights_it_was_trained_for(home: Path) -> None:
    own = trained(readers.folder() / "abc" / "best", "abc")
    assert readers.find("abc") == own
    assert readers.find("another") is None
    assert readers.heads_of(own) == ((1, 2), (0, 3))


def test_the_users_own_reader_goes_before_the_shipped_one(home: Path) -> None:
    shipped = next(fingerprint for _, fingerprint in readers._known())
    before = readers.find(shipped)
    own = trained(readers.folder() / "mine" / "best", shipped)
    assert before != own
    assert readers.find(shipped) == own


def test_a_damaged_record_is_left_out_and_said(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = trained(readers.folder() / "abc" / "best", "abc")
    (folder / readers.TRAINING).write_text("{")
    assert readers.find("abc") is None
    assert "left out" in caplog.text
    with pytest.raises(InputError, match="train anew"):
        readers.heads_of(folder)


@pytest.mark.model
def test_heads_calibrated_for_what_reads_go_before_the_readers_own(
    default_folder: Path, home: Path
) -> None:
    from dataclasses import replace

    from foveate import load_proxy
    from foveate.compressors import probes

    before = load_proxy(default_folder)
    found = probes.find(before.fingerprint)
    assert found is not None
    replace(found, heads=((17, 3),)).save(probes.folder() / "own.json")
    try:
        assert load_proxy(default_folder).heads == ((17, 3),)
        assert load_proxy(default_folder, adapter=None).heads == before.heads
    finally:
        probes.find.cache_clear()
