"""The application, and the server around it.

create_app(settings, engine=None) -> FastAPI     for any ASGI server
serve(settings)                                  uvicorn, one process, until told to stop
"""

from __future__ import annotations

import asyncio
import copy
import logging
import math
from contextlib import asynccontextmanager, closing, nullcontext
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import MissingExtraError

try:
    import uvicorn
    import uvicorn.config
    from fastapi import FastAPI
except ImportError as error:
    raise MissingExtraError(error.name or "fastapi", "service") from error

from . import errors
from .calls import prepare_checks
from .engine import EngineRunner
from .middleware import BodyLimit, Edge
from .routes import compress, health, rerank
from .settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from socket import socket

    from foveate.rag.engine import Engine

log = logging.getLogger(__name__)


def create_app(settings: Settings | None = None, engine: Engine | None = None) -> FastAPI:
    """The service as an ASGI application.

    Args:
        settings: How it runs; read from the environment by default.
        engine: Does the work, and stays the caller's to close. By default one is loaded from
            `settings` while the service already answers `/health`.
    """
    settings = settings or Settings()
    app = FastAPI(
        title="Foveate",
        summary="Context engineering for retrieval-augmented generation",
        version=_version(),
        lifespan=_lifespan,
        docs_url=None,  # both pages would load their scripts from a CDN
        redoc_url=None,
    )
    app.state.settings, app.state.engine = settings, engine
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(Edge)  # added last, so outermost
    errors.install(app)
    for routes in (compress, rerank, health):
        app.include_router(routes.router)
    return app


def build_engine(settings: Settings) -> Engine:
    """Load the proxy that the settings name, and put an engine around it."""
    from foveate.rag.api import load_proxy
    from foveate.rag.engine import Engine

    proxy = load_proxy(settings.model, device=settings.device, dtype=settings.dtype)
    return Engine(proxy, scorer=settings.scorer, orderer=settings.orderer)


class Server(uvicorn.Server):
    """uvicorn that says "not ready" before it stops listening, and stops if it never will be.

    Args:
        config: Of uvicorn; its app was made by `create_app`.
        app: That app.
    """

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    @property
    def failure(self) -> BaseException | None:
        """Why the engine could not be loaded, if so."""
        runner: EngineRunner = self._app.state.runner
        return runner.failure

    async def on_tick(self, counter: int) -> bool:
        """Stop as well if the engine could not be loaded: no wait would mend that."""
        return await super().on_tick(counter) or self.failure is not None

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Drain, give load balancers time to notice, then stop."""
        self._app.state.runner.drain()
        if not self.failure:
            await asyncio.sleep(self._app.state.settings.drain_delay)
        await super().shutdown(sockets)


def server(settings: Settings, engine: Engine | None = None) -> Server:
    """A server that is ready to `run()`: one process, for one worker thread owns the model."""
    app = create_app(settings, engine)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        workers=1,
        ws="none",
        lifespan="on",
        access_log=False,  # `Edge` writes the line, by route and without query strings
        server_header=False,
        log_level=settings.log_level,
        log_config=_log_config(settings.log_level),
        timeout_graceful_shutdown=math.ceil(settings.drain_timeout),
    )
    return Server(config, app)


def serve(settings: Settings | None = None) -> None:
    """Serve until SIGINT or SIGTERM; requests that were taken in are answered first.

    Raises:
        ModelNotFoundError: The proxy is not on this machine; raised before the port opens.
        BaseException: Whatever else kept the engine from being loaded; the port was closed again.
    """
    from foveate.rag.models import resolve

    settings = settings or Settings()
    resolve(settings.model)
    host = server(settings)
    host.run()
    if failure := host.failure:
        raise failure


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    given: Engine | None = app.state.engine
    prepare_checks()
    runner = EngineRunner(
        lambda: nullcontext(given) if given else closing(build_engine(settings)),
        max_queue=settings.max_queue,
    )
    app.state.runner = runner
    runner.start()
    if given is not None:
        await runner.loaded()
    try:
        yield
    finally:
        await runner.close(settings.drain_timeout)


def _log_config(level: str) -> dict[str, Any]:
    config = copy.deepcopy(uvicorn.config.LOGGING_CONFIG)
    config["loggers"]["foveate"] = {"handlers": ["default"], "level": level.upper()}
    return config


def _version() -> str:
    from importlib.metadata import version

    return version("foveate")
