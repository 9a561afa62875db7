"""`foveate serve`: the HTTP service."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from foveate.blocks.errors import InputError

from .naming import ORDERERS, SCORERS, Naming

Host = Annotated[str | None, typer.Option(help="Address to listen on. [127.0.0.1]")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="Port; 0 takes any. [8000]")]
Model = Annotated[str | None, typer.Option("--proxy", help="What reads. [default]")]
ScorerName = Annotated[
    str | None, typer.Option("--scorer", help=f"What decides: {SCORERS}. [fused]")
]
OrdererName = Annotated[
    str | None, typer.Option("--orderer", help=f"Order of passages: {ORDERERS}. [original]")
]
TimeoutS = Annotated[
    float | None, typer.Option("--timeout", metavar="S", help="Seconds that a request has. [30]")
]
LogLevel = Annotated[
    str | None, typer.Option(help="debug, info, warning, error or critical. [info]")
]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(cls=Naming)(serve)


def serve(
    host: Host = None,
    port: Port = None,
    model: Model = None,
    scorer: ScorerName = None,
    orderer: OrdererName = None,
    timeout: TimeoutS = None,
    log_level: LogLevel = None,
) -> None:
    """Serve over HTTP until told to stop.

    Everything can be set by environment variables too (FOVEATE_PORT, ...); what is given here goes
    first.
    """
    given = {
        "host": host,
        "port": port,
        "model": model,
        "scorer": scorer,
        "orderer": orderer,
        "timeout": timeout,
        "log_level": log_level,
    }
    # The service stands above this package. The command line, at the edge of the process, starts it
    # by name, so that nothing here depends on it.
    service = import_module("foveate.service.app")
    service.serve(_settings(service.Settings, given))


def _settings(settings: Any, given: dict[str, Any]) -> Any:
    try:
        return settings(**{name: value for name, value in given.items() if value is not None})
    except ValueError as error:  # pydantic's, with all that is wrong
        wrong = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())  # type: ignore[attr-defined]
        raise InputError(f"the service cannot be set so: {wrong}") from error
