"""What there is to show of a context, in order, and no more than can be looked at."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .context import Context, Piece

MAX_PIECES = 6_000
"""Pieces beyond which only kept ones and their neighbours are shown, however short they are."""

MAX_CARDS = 200
MAX_NEIGHBOUR = 400  # characters of a neighbour that are shown once space is short


@dataclass(frozen=True, slots=True)
class Run:
    """The text of a piece, as far as it is shown.

    Attributes:
        piece: The piece.
        text: Its text, or the first part of it.
        cut: Characters that are not shown.
    """

    piece: Piece
    text: str
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """Pieces that are not shown."""

    units: int
    characters: int


@dataclass(frozen=True, slots=True)
class Card:
    """One passage.

    Attributes:
        index: Its place in the caller's list, from 0.
        place: Its place in the context, from 0; None if nothing of it is kept.
        name: Its title, else its id.
        id: Its id.
        score: Its relevance.
        kept_tokens: Tokens of its kept pieces.
        tokens: Tokens of all its pieces.
        kept_units: Kept pieces.
        units: All pieces.
        runs: Its text.
    """

    index: int
    place: int | None
    name: str
    id: str
    score: float
    kept_tokens: int
    tokens: int
    kept_units: int
    units: int
    runs: tuple[Run | Gap, ...]

    @property
    def share(self) -> float:
        """Share of its tokens that is kept, in [0, 1]."""
        return self.kept_tokens / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, slots=True)
class View:
    """All that is shown.

    Attributes:
        cards: Passages in the context first, in its order; then those left out, in the caller's.
        hidden: Passages without kept text that are not shown.
        trimmed: Whether only kept pieces and their neighbours are shown.
    """

    cards: tuple[Card, ...]
    hidden: int
    trimmed: bool


def view(context: Context, *, max_text: int) -> View:
    """Choose what to show: all, or beyond `max_text` characters what is kept and its neighbours."""
    size = sum(len(passage.text) for passage in context.passages)
    trimmed = size > max_text or len(context.pieces) > MAX_PIECES
    left_out = [i for i in range(len(context.passages)) if i not in set(context.order)]
    shown = [*context.order, *left_out][:MAX_CARDS]
    pieces = {i: list(group) for i, group in groupby(context.pieces, key=lambda p: p.passage)}
    room = _Room(max_text, MAX_PIECES)
    cards = []
    for place, index in enumerate(shown):
        own = pieces.get(index, [])
        runs = _runs(context, own, room) if trimmed else [_run(context, piece) for piece in own]
        cards.append(_card(context, index, place, own, runs))
    return View(tuple(cards), len(context.passages) - len(shown), trimmed)


def width(char: str) -> int:
    """Columns that a character takes: two for the wide ones of East Asian scripts."""
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, columns: int) -> str:
    """On one line, and no wider than `columns`."""
    line = " ".join(text.split())
    room = columns
    for i, char in enumerate(line):
        room -= width(char)
        if room < 0 or (room < 1 and i + 1 < len(line)):
            return line[:i].rstrip() + "…"
    return line


@dataclass(slots=True)
class _Room:
    characters: int
    pieces: int


def _card(
    context: Context, index: int, place: int, own: Sequence[Piece], runs: Sequence[Run | Gap]
) -> Card:
    passage = context.passages[index]
    kept = [piece for piece in own if piece.kept]
    return Card(
        index=index,
        place=place if place < len(context.order) else None,
        name=passage.title or passage.id,
        id=passage.id,
        score=context.passage_scores[index],
        kept_tokens=sum(piece.tokens for piece in kept),
        tokens=sum(piece.tokens for piece in own),
        kept_units=len(kept),
        units=len(own),
        runs=tuple(runs),
    )


def _run(context: Context, piece: Piece) -> Run:
    return Run(piece, context.piece_text(piece))


def _runs(context: Context, own: Sequence[Piece], room: _Room) -> list[Run | Gap]:
    """Kept pieces with their neighbours, as long as there is room; gaps for the rest."""
    kept = [i for i, piece in enumerate(own) if piece.kept]
    near = {i + step for i in kept for step in (-1, 0, 1)}
    runs: list[Run | Gap] = []
    for i, piece in enumerate(own):
        run = _fitted(_run(context, piece), room) if i in near else None
        if run is not None:
            runs.append(run)
        elif runs and isinstance(runs[-1], Gap):
            last = runs[-1]
            length = piece.end - piece.start
            runs[-1] = Gap(last.units + 1, last.characters + length)
        else:
            runs.append(Gap(1, piece.end - piece.start))
    return runs


def _fitted(run: Run, room: _Room) -> Run | None:
    most = room.characters if run.piece.kept else min(room.characters, MAX_NEIGHBOUR)
    if most <= 0 or room.pieces <= 0:
        return None
    room.pieces -= 1
    room.characters -= min(most, len(run.text))
    return replace(run, text=run.text[:most], cut=max(0, len(run.text) - most))
