"""Reading -> scores -> selection."""

from .base import SCORERS, Scorer

__all__ = ["SCORERS", "Scorer"]
