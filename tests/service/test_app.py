from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

from foveate.blocks.errors import MissingExtraError, ModelNotFoundError, UnsupportedModelError
from foveate.rag.engine import Engine
from foveate.service import app as app_module
from foveate.service.app import create_app, serve
from foveate.service.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Gate, Listening
    from fastapi import FastAPI

BODY = {
    "query": "When was the bridge opened?",
    "passages": ["The bridge spans the Tay. It was opened in 1887. Trains still use it."],
    "budget": 7,
}


def test_a_real_server_compresses_and_reranks(listening: Listening) -> None:
    with listening() as live:
        compressed = live.post("/v1/compress", BODY)
        wanted = {"query": BODY["query"], "documents": ["Ferries.", "The bridge."], "top_n": 1}
        reranked = live.post("/v2/rerank", wanted)
        assert live.get("/health").status_code == 200
        assert live.get("/ready").status_code == 200
    assert compressed.status_code == 200
    assert compressed.json()["tokens_after"] <= 7
    assert compressed.headers["X-Request-ID"]
    assert "server" not in compressed.headers
    assert reranked.json()["results"][0]["index"] == 1


def test_many_clients_at_once_are_all_answered(listening: Listening) -> None:
    def ask(n: int) -> str:
        passages = [f"Here is topic{i}. Nothing else is told." for i in range(16)]
        wanted = {"query": f"What about topic{n}?", "passages": passages, "budget": 3}
        return str(
            httpx2.post(f"{live.url}/v1/compress", json=wanted, timeout=20).json()["context"]
        )

    with listening() as live, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(16)))
    assert answers == [f"Here is topic{n}." for n in range(16)]


def test_a_client_that_hangs_up_in_the_queue_costs_nothing(
    listening: Listening, gated: Engine, gate: Gate
) -> None:
    with listening(gated) as live, ThreadPoolExecutor(2) as pool:
        first = pool.submit(live.post, "/v1/compress", {**BODY, "query": "first"})
        assert gate.arrival() == "first"
        with hanging_up(live.url, {**BODY, "query": "gone"}):
            while live.get("/ready").json()["waiting"] < 1:
                pass
        while live.get("/ready").json()["waiting"] > 0:
            pass
        last = pool.submit(live.post, "/v1/compress", {**BODY, "query": "last"})
        gate.open.set()
        assert first.result(20).status_code == last.result(20).status_code == 200
    assert gate.came == ["first", "last"]


def test_at_shutdown_requests_taken_in_are_answered(
    listening: Listening, gated: Engine, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    draining = threading.Event()
    with listening(gated) as live, ThreadPoolExecutor(2) as pool:
        first = pool.submit(live.post, "/v1/compress", {**BODY, "query": "first"})
        assert gate.arrival() == "first"
        second = pool.submit(live.post, "/v1/compress", {**BODY, "query": "second"})
        runner = live.host.config.app.state.runner  # type: ignore[union-attr]
        while runner.waiting < 1:
            live.get("/ready")
        drain = runner.drain
        monkeypatch.setattr(runner, "drain", lambda: (drain(), draining.set()))
        live.host.should_exit = True
        assert draining.wait(20)
        gate.open.set()
        assert first.result(20).status_code == second.result(20).status_code == 200
        live.thread.join(20)
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{live.url}/health")
    assert gate.came == ["first", "second"]


def test_it_listens_on_this_machine_alone_unless_told() -> None:
    assert Settings().host == "127.0.0.1"


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOVEATE_PORT", "8123")
    monkeypatch.setenv("FOVEATE_MAX_QUEUE", "3")
    monkeypatch.setenv("FOVEATE_TOKENIZER", "o200k_base")
    settings = Settings(timeout=2)
    assert (settings.port, settings.max_queue, settings.timeout) == (8123, 3, 2)
    assert settings.tokenizer == "o200k_base"


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "70000"), ("TIMEOUT", "0"), ("TIMEOUT", "inf"), ("MAX_QUEUE", "x")]
)
def test_a_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"FOVEATE_{name}", value)
    with pytest.raises(ValueError, match=name.lower()):
        Settings()


def test_a_model_that_is_not_there_is_said_before_the_port_opens(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        serve(Settings(model=str(tmp_path / "missing")))


def test_an_engine_that_cannot_be_loaded_ends_the_server_with_its_own_error(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(settings: Settings) -> Engine:
        raise UnsupportedModelError(settings.model, "of ALiBi")

    monkeypatch.setattr(app_module, "build_engine", build)
    with pytest.raises(UnsupportedModelError, match="ALiBi"):
        serve(Settings(model=str(tiny_folder), port=0, drain_delay=60))


def test_before_the_port_closes_load_balancers_are_told(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    draining = threading.Event()
    with listening(drain_delay=1.0) as live:
        assert live.get("/ready").status_code == 200
        runner = live.host.config.app.state.runner  # type: ignore[union-attr]
        drain = runner.drain
        monkeypatch.setattr(runner, "drain", lambda: (drain(), draining.set()))
        live.host.should_exit = True
        assert draining.wait(20)
        ready = live.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "draining")
        assert live.post("/v1/compress", BODY).status_code == 503
        assert live.get("/health").status_code == 200


def test_the_engine_that_the_service_loaded_is_closed_with_it_and_a_given_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Watched(Engine):
        closed = False

        def close(self) -> None:
            self.closed = True
            super().close()

    async def live(app: FastAPI) -> None:
        async with app.router.lifespan_context(app):
            await app.state.runner.loaded()

    own, given = Watched(None, scorer="lexical"), Watched(None, scorer="lexical")
    monkeypatch.setattr(app_module, "build_engine", lambda settings: own)
    asyncio.run(live(create_app(Settings())))
    asyncio.run(live(create_app(Settings(), given)))
    assert (own.closed, given.closed) == (True, False)
    given.close()


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_the_extra_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "foveate.service.app")
    with pytest.raises(MissingExtraError, match=rf"{package} is not .*foveate\[service\]"):
        importlib.import_module("foveate.service.app")


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    """A folder that looks like a model, so that the service goes on to load it."""
    from safetensors.numpy import save_file

    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    save_file({}, tmp_path / "model.safetensors")
    return tmp_path


@contextlib.contextmanager
def hanging_up(url: str, body: dict[str, Any]) -> Any:
    """A client that sends a request and, on leaving, closes without reading."""
    raw = json.dumps(body).encode()
    parts = urlsplit(url)
    head = (
        f"POST /v1/compress HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port)) as sock:
        sock.sendall(head.encode() + raw)
        yield
