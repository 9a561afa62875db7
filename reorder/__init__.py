"""Scores and placement -> order."""

from .base import ORDERERS, Orderer

__all__ = ["ORDERERS", "Orderer"]
