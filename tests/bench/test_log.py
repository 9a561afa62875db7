from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.log import Log

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = {"proxy": "p", "code": "1"}


def test_what_was_logged_is_there_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    Log(path, SETTINGS).add([{"n": 1}])
    Log(path, SETTINGS).add([{"n": 2}])
    assert Log(path, SETTINGS).entries == [{"n": 1}, {"n": 2}]


def test_a_line_that_was_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Log(path, SETTINGS).add([{"n": 1}, {"n": 2}])
    path.write_text(path.read_text()[:-5])
    again = Log(path, SETTINGS)
    assert again.entries == [{"n": 1}]
    again.add([{"n": 3}])
    assert Log(path, SETTINGS).entries == [{"n": 1}, {"n": 3}]


def test_other_settings_are_refused_and_other_code_unless_it_is_said_to_be_alike(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    Log(path, SETTINGS).add([{"n": 1}])
    with pytest.raises(ValueError, match=r"another code; --fresh starts anew"):
        Log(path, {**SETTINGS, "code": "2"})
    with pytest.raises(ValueError, match="another proxy"):
        Log(path, {**SETTINGS, "proxy": "q"}, mixed=True)
    assert Log(path, {**SETTINGS, "code": "2"}, mixed=True).entries == [{"n": 1}]
    assert Log(path, SETTINGS, fresh=True).entries == []
