from __future__ import annotations

import queue
import socket
import threading
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import httpx2
import pytest

from foveate.compressors.base import Scorer
from foveate.compressors.lexical import Lexical
from foveate.rag.engine import Engine
from foveate.service.app import Server, create_app, server
from foveate.service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from foveate.blocks.candidates import Candidates, Scores
    from foveate.blocks.counting import TokenCounter

PATIENCE_S = 20


class WordEngine(Engine):
    """A real engine without a proxy, whose own tokenizer counts words."""

    def counter(self, tokenizer: Any) -> TokenCounter:
        return super().counter(tokenizer or (lambda text: len(text.split())))


class Gate(Scorer):
    """Lexical, but it waits at a gate, and tells who came and who went through."""

    name = "gate"
    reads = False

    def __init__(self) -> None:
        self.open = threading.Event()
        self.came: list[str] = []
        self._arrivals: queue.Queue[str] = queue.Queue()
        self._let: dict[str, threading.Event] = {}

    def score(self, candidates: Candidates) -> Scores:
        self.came.append(candidates.query)
        self._arrivals.put(candidates.query)
        assert self._let.get(candidates.query, self.open).wait(PATIENCE_S)
        return Lexical().score(candidates)

    def hold(self, query: str) -> threading.Event:
        """Let that query through by an event of its own."""
        return self._let.setdefault(query, threading.Event())

    def release(self) -> None:
        """Let everybody through."""
        for event in (self.open, *self._let.values()):
            event.set()

    def arrival(self) -> str:
        """Wait until somebody stands at the gate."""
        return self._arrivals.get(timeout=PATIENCE_S)


@dataclass
class Live:
    """A server on a real socket, in a thread of this process."""

    url: str
    host: Server
    thread: threading.Thread
    _client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=PATIENCE_S))

    def post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        return self._client.post(self.url + path, json=body)

    def get(self, path: str) -> httpx2.Response:
        return self._client.get(self.url + path)

    def close(self) -> None:
        self._client.close()
        self.host.should_exit = True
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


class Running(Protocol):
    def __call__(
        self, engine: Engine | None = None, **settings: Any
    ) -> AbstractAsyncContextManager[httpx2.AsyncClient]: ...


class Listening(Protocol):
    def __call__(
        self, engine: Engine | None = None, **settings: Any
    ) -> AbstractContextManager[Live]: ...


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = WordEngine(None, scorer="lexical")
    yield made
    made.close()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.release()


@pytest.fixture
def gated(gate: Gate) -> Iterator[Engine]:
    made = WordEngine(None, scorer=gate)
    yield made
    gate.release()
    made.close()


@pytest.fixture
def running(engine: Engine) -> Running:
    """The application in this event loop, with a client; no socket."""
    default = engine

    @asynccontextmanager
    async def run(
        engine: Engine | None = None, **settings: Any
    ) -> AsyncIterator[httpx2.AsyncClient]:
        app = create_app(Settings(**settings), engine or default)
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://service") as client,
        ):
            yield client

    return run


@pytest.fixture
def listening(engine: Engine) -> Listening:
    """The application behind uvicorn on a free port of the loopback device."""
    default = engine

    @contextmanager
    def listen(engine: Engine | None = None, **settings: Any) -> Iterator[Live]:
        with socket.create_server(("127.0.0.1", 0)) as sock:
            host = server(Settings(**settings), engine or default)
            thread = threading.Thread(target=host.run, kwargs={"sockets": [sock]})
            thread.start()
            live = Live(f"http://127.0.0.1:{sock.getsockname()[1]}", host, thread)
            try:
                yield live
            finally:
                live.close()

    return listen
