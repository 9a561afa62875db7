"""The commands of `foveate`, a module for each group of them."""

from __future__ import annotations

from foveate.blocks.errors import MissingExtraError

try:
    import typer as _typer  # noqa: F401 - none of the modules here can do without it
except ImportError as error:
    raise MissingExtraError("typer", "cli") from error
