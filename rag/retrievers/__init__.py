"""Retrievers: lexical, dense, fused, over an index folder; and what a retriever is."""

from .base import Hit, Retriever
from .fused import FusedRetriever, fuse

__all__ = ["FusedRetriever", "Hit", "Retriever", "fuse"]
