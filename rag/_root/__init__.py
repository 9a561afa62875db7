"""Foveate: context engineering for retrieval-augmented generation.

One reading by a small proxy model decides what the generator sees, in which order, and what need
not be computed again. Everything here is imported on first use, so that `import foveate` stays
quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foveate.blocks.errors import FoveateError
    from foveate.blocks.passage import Passage, Unit
    from foveate.blocks.proxy import Proxy
    from foveate.compressors.base import SCORERS, Scorer
    from foveate.compressors.budget import Adaptive
    from foveate.rag.api import acompress, compress, load_proxy
    from foveate.rag.context import Context, Piece
    from foveate.rag.engine import Engine, Options
    from foveate.rag.pipeline import Answer, Pipeline
    from foveate.rag.render import Style
    from foveate.rag.slide import Excerpt, Slid, slide
    from foveate.reorder.base import ORDERERS, Orderer

__version__ = "0.1.0"

_HOMES = {
    "FoveateError": "blocks.errors",
    "Passage": "blocks.passage",
    "Unit": "blocks.passage",
    "Proxy": "blocks.proxy",
    "SCORERS": "compressors.base",
    "Scorer": "compressors.base",
    "Adaptive": "compressors.budget",
    "acompress": "rag.api",
    "compress": "rag.api",
    "load_proxy": "rag.api",
    "Context": "rag.context",
    "Piece": "rag.context",
    "Engine": "rag.engine",
    "Options": "rag.engine",
    "Answer": "rag.pipeline",
    "Pipeline": "rag.pipeline",
    "Style": "rag.render",
    "Excerpt": "rag.slide",
    "Slid": "rag.slide",
    "slide": "rag.slide",
    "ORDERERS": "reorder.base",
    "Orderer": "reorder.base",
}

__all__ = [
    "ORDERERS",
    "SCORERS",
    "Adaptive",
    "Answer",
    "Context",
    "Engine",
    "Excerpt",
    "FoveateError",
    "Options",
    "Orderer",
    "Passage",
    "Piece",
    "Pipeline",
    "Proxy",
    "Scorer",
    "Slid",
    "Style",
    "Unit",
    "__version__",
    "acompress",
    "compress",
    "load_proxy",
    "slide",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'foveate' has no attribute {name!r}")
    return getattr(import_module(f"foveate.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
