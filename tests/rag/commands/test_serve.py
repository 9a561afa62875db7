from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., Any]
    Failure = Callable[[Any, int], str]


def test_serve_hands_its_options_to_the_service(
    failure: Failure, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = pytest.importorskip("foveate.service.app")
    seen = []
    monkeypatch.setattr(service, "serve", seen.append)
    monkeypatch.setenv("FOVEATE_HOST", "0.0.0.0")
    assert run("serve", "--port", "9000", "--proxy", "small").exit_code == 0
    assert (seen[0].host, seen[0].port, seen[0].model) == ("0.0.0.0", 9000, "small")
    message = failure(run("serve", "--log-level", "loud"), 2)
    assert "log_level" in message
    assert len(seen) == 1
