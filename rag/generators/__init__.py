"""Generators: from a context to an answer, in this process or over HTTP. Imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .base import Generator

if TYPE_CHECKING:
    from .openai import OpenAIGenerator
    from .transformers import TransformersGenerator

_HOMES = {"OpenAIGenerator": "openai", "TransformersGenerator": "transformers"}

__all__ = ["Generator", "OpenAIGenerator", "TransformersGenerator"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
