"""Everything that can be set, each by an environment variable: `FOVEATE_PORT`, ..."""

from __future__ import annotations

from typing import Literal

from foveate.blocks.errors import MissingExtraError

try:
    from pydantic import Field
    from pydantic_settings import BaseSettings, SettingsConfigDict
except ImportError as error:
    raise MissingExtraError("pydantic-settings", "service") from error


class Settings(BaseSettings):
    """How the service runs. Read once, at the process edge; nothing below reads the environment."""

    model_config = SettingsConfigDict(env_prefix="FOVEATE_", extra="ignore", frozen=True)

    host: str = "127.0.0.1"
    """Address to listen on: this machine alone, unless you say otherwise."""

    port: int = Field(default=8000, ge=0, le=65_535)
    """Port to listen on; 0 takes a free one."""

    model: str = "default"
    """The proxy: a catalogue name, a Hugging Face id, a folder or a GGUF file."""

    device: str = "auto"
    """Where the proxy runs: "auto" or a torch device."""

    dtype: str = "auto"
    """In what it computes: "auto" or a torch dtype name."""

    scorer: str = "fused"
    """What decides where a request names no scorer."""

    orderer: str = "original"
    """Where passages stand where a request names no orderer."""

    tokenizer: str | None = None
    """tiktoken name that counts where a request names none; None is the proxy's own tokenizer."""

    timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Seconds from arrival to answer, the queue included. A request can only ask for less."""

    max_queue: int = Field(default=64, ge=0)
    """Requests that may wait while one runs; the next is turned away with 429."""

    max_passages: int = Field(default=1_000, ge=1)
    """Passages or documents that one request may bring."""

    max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1)
    """Size that a request body may have; a larger one is turned away with 413."""

    drain_delay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Seconds between `/ready` saying no and the port closing, for load balancers to notice."""

    drain_timeout: float = Field(default=30.0, ge=0, allow_inf_nan=False)
    """Seconds that requests already taken in have to finish at shutdown."""

    log_level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """What is logged. Queries and passages never are."""
