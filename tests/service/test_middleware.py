from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from foveate.service.app import create_app
from foveate.service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from conftest import Gate, Running

    from foveate.rag.engine import Engine

BODY = {"query": "bridge", "passages": ["The bridge is long."]}


async def test_the_callers_request_id_comes_back(running: Running) -> None:
    async with running() as client:
        for path in ("/health", "/v1/nothing"):
            response = await client.get(path, headers={"X-Request-ID": "a1.b-2_c"})
            assert response.headers["X-Request-ID"] == "a1.b-2_c"


@pytest.mark.parametrize("given", ["", "two words", "x" * 129, "naïve", 'quote"'])
async def test_an_unsafe_request_id_is_replaced(running: Running, given: str) -> None:
    async with running() as client:
        headers = {"X-Request-ID": given.encode()}
        first = await client.get("/health", headers=headers)
        second = await client.get("/health", headers=headers)
    ids = {first.headers["X-Request-ID"], second.headers["X-Request-ID"]}
    assert len(ids) == 2
    assert given not in ids


async def test_a_body_that_says_it_is_too_large_is_turned_away(running: Running) -> None:
    async with running(max_body_bytes=100) as client:
        response = await client.post("/v1/compress", json={**BODY, "query": "x" * 100})
        small = await client.post("/v1/compress", json=BODY)
    assert response.status_code == 413
    assert "larger than 100 bytes" in response.json()["error"]["message"]
    assert response.headers["X-Request-ID"]
    assert small.status_code == 200


async def test_a_body_that_does_not_say_how_large_it_is_is_counted(running: Running) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 50
            yield b" " * 50

    async with running(max_body_bytes=100) as client:
        headers = {"Content-Type": "application/json"}
        response = await client.post("/v1/compress", content=endless(), headers=headers)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "content_too_large"
    assert read == 150


async def test_the_log_has_route_status_time_and_id(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="foveate.service")
    async with running() as client:
        headers = {"X-Request-ID": "id-7"}
        await client.post("/v1/compress?q=secret", json=BODY, headers=headers)
    (line,) = [r.getMessage() for r in caplog.records if "id-7" in r.getMessage()]
    assert line.startswith("POST /v1/compress 200 ")
    assert line.endswith(" ms id-7")


async def test_a_request_whose_client_hangs_up_in_the_queue_is_never_run(
    gated: Engine, gate: Gate
) -> None:
    app = create_app(Settings(), gated)
    async with app.router.lifespan_context(app), asyncio.timeout(20):
        stays, leaves, last = Exchange(app, "stays"), Exchange(app, "leaves"), Exchange(app, "last")
        stays.start()
        assert await asyncio.to_thread(gate.arrival) == "stays"
        leaves.start()
        while app.state.runner.waiting < 1:
            await asyncio.sleep(0)
        leaves.hang_up.set()
        await leaves.done()
        assert app.state.runner.waiting == 0
        last.start()
        gate.open.set()
        assert await stays.done() == 200
        assert await last.done() == 200
    assert gate.came == ["stays", "last"]


class Exchange:
    """One request, spoken in ASGI, whose client can hang up."""

    def __init__(self, app: Any, query: str) -> None:
        self.hang_up = asyncio.Event()
        self._app, self._status = app, 0
        self._raw = json.dumps({**BODY, "query": query}).encode()
        self._sent = False

    def start(self) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/compress",
            "raw_path": b"/v1/compress",
            "query_string": b"",
            "root_path": "",
            "headers": [(b"content-type", b"application/json")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        self._task = asyncio.create_task(self._app(scope, self._receive, self._send))

    async def done(self) -> int:
        await self._task
        return self._status

    async def _receive(self) -> dict[str, Any]:
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": self._raw, "more_body": False}
        await self.hang_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self._status = message.get("status", self._status)
