from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import httpx2

from foveate.service import app as app_module
from foveate.service.app import create_app
from foveate.service.settings import Settings

if TYPE_CHECKING:
    import pytest
    from conftest import Gate, Running

    from foveate.rag.engine import Engine

BODY = {"query": "bridge", "passages": ["The bridge is long."]}


async def test_a_service_with_its_engine_is_up_and_ready(running: Running) -> None:
    async with running() as client:
        health, ready = await client.get("/health"), await client.get("/ready")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "waiting": 0})


async def test_while_the_model_loads_it_is_up_but_not_ready(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def build(settings: Settings) -> Engine:
        assert go.wait(20)
        return engine

    monkeypatch.setattr(app_module, "build_engine", build)
    app = create_app(Settings())
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://service") as client,
        asyncio.timeout(20),
    ):
        assert (await client.get("/health")).status_code == 200
        ready = await client.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "loading")
        early = await client.post("/v1/compress", json=BODY)
        assert early.status_code == 503
        assert early.json()["error"]["code"] == "loading"
        assert int(early.headers["Retry-After"]) >= 1
        go.set()
        while (await client.get("/ready")).status_code != 200:
            pass
        assert (await client.post("/v1/compress", json=BODY)).status_code == 200


async def test_a_model_that_cannot_be_loaded_is_said_without_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(settings: Settings) -> Any:
        raise OSError("/secret/path")

    monkeypatch.setattr(app_module, "build_engine", build)
    app = create_app(Settings())
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        await app.state.runner.loaded()
        ready = await client.get("/ready")
        refused = await client.post("/v1/compress", json=BODY)
    assert (ready.status_code, ready.json()["status"]) == (503, "failed")
    assert refused.status_code == 503
    assert "secret" not in ready.text + refused.text


async def test_while_draining_it_is_up_but_takes_no_more(gated: Engine, gate: Gate) -> None:
    app = create_app(Settings(), gated)
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://service") as client,
        asyncio.timeout(20),
    ):
        taken = asyncio.create_task(client.post("/v1/compress", json=BODY))
        await asyncio.to_thread(gate.arrival)
        app.state.runner.drain()
        assert (await client.get("/health")).status_code == 200
        ready = await client.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "draining")
        late = await client.post("/v1/compress", json=BODY)
        assert (late.status_code, late.json()["error"]["code"]) == (503, "draining")
        gate.open.set()
        assert (await taken).status_code == 200


async def test_the_queue_is_told(running: Running, gated: Engine, gate: Gate) -> None:
    async with running(gated) as client, asyncio.timeout(20):
        tasks = [asyncio.create_task(client.post("/v1/compress", json=BODY)) for _ in range(4)]
        await asyncio.to_thread(gate.arrival)
        while (await client.get("/ready")).json()["waiting"] < 3:
            pass
        gate.open.set()
        assert {(await task).status_code for task in tasks} == {200}
        assert (await client.get("/ready")).json()["waiting"] == 0
