from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

from foveate.rag.commands import console

if TYPE_CHECKING:
    import pytest


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


def test_whoever_waits_at_a_terminal_is_told_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, said in ((Terminal(), "foveate: loading\n"), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", stream)
        console.note_on_terminal("loading")
        assert stream.getvalue() == said
