"""The product: the context, what it was made of, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.blocks.candidates import NOTHING_RELEVANT

from .render import Style, header, without

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foveate.blocks.passage import Passage, UnitKind


@dataclass(frozen=True, slots=True)
class Piece:
    """One unit of the input, kept or dropped: `passages[passage].text[start:end]`.

    Attributes:
        passage: Index of its passage in the caller's list.
        passage_id: The passage's id.
        start: First character in the passage's text, in code points.
        end: One past the last.
        kind: What the unit is.
        score: Calibrated relevance in [0, 1].
        kept: Whether it is in the context.
        reason: Why it is kept or dropped.
        tokens: Its tokens in the caller's tokenizer, alone.
        also_in: Indices of other passages that say the same, and whose own unit was left out for
            this one.
        spared: Characters within it that are not in the context though it is kept, as spans of the
            passage's text: words that "token-level" left out.
    """

    passage: int
    passage_id: str
    start: int
    end: int
    kind: UnitKind
    score: float
    kept: bool
    reason: str
    tokens: int
    also_in: tuple[int, ...] = ()
    spared: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the generator sees, with the source of every character of it.

    Attributes:
        query: The question, as it was read: a conversation's last with what it refers to.
        text: The context, rendered: verbatim source text, `…` where something was left out. This
            is what the budget bounds.
        passages: The caller's passages, untouched, in the caller's order.
        pieces: Every unit of every passage, in the caller's order, kept and dropped. They tile the
            passages.
        order: Indices of the passages in `text`, first to last.
        passage_scores: Calibrated relevance of every passage, shape (passages,).
        nothing: In [0, 1], how far the evidence says that no passage holds the answer; see
            `nothing_relevant`.
        tokens_before: Tokens of all passages rendered whole, in the caller's tokenizer.
        tokens_after: Tokens of `text`.
        limit: Tokens that were allowed.
        timings: Milliseconds by stage, in the order they ran; "total" is the whole call.
        scorer: Name of the scorer that answered.
        orderer: Name of the orderer that answered.
        degraded: True if a simpler method stood in for the one that was asked for, or the query was
            too long to be read whole.
        degraded_reason: Which, and why; empty if neither.
        style: How `text` is laid out.
        untitled: Passages whose title was left out, for there was no room for it.
    """

    query: str
    text: str
    passages: tuple[Passage, ...]
    pieces: tuple[Piece, ...]
    order: tuple[int, ...]
    passage_scores: tuple[float, ...]
    nothing: float
    tokens_before: int
    tokens_after: int
    limit: int
    timings: Mapping[str, float]
    scorer: str
    orderer: str
    degraded: bool = False
    degraded_reason: str = ""
    style: Style = field(default_factory=Style)
    untitled: frozenset[int] = frozenset()

    @property
    def kept(self) -> tuple[Piece, ...]:
        """The pieces in the context, in the caller's order."""
        return tuple(piece for piece in self.pieces if piece.kept)

    @property
    def dropped(self) -> tuple[Piece, ...]:
        """The pieces left out."""
        return tuple(piece for piece in self.pieces if not piece.kept)

    @property
    def confidence(self) -> float:
        """In [0, 1], how far the evidence says that some passage holds the answer."""
        return 1.0 - self.nothing

    @property
    def nothing_relevant(self) -> bool:
        """Whether no passage seems to hold the answer: better to say so than to answer from these.

        True from `foveate.blocks.candidates.NOTHING_RELEVANT` of `nothing` on.
        """
        return self.nothing >= NOTHING_RELEVANT

    @property
    def ratio(self) -> float:
        """Share of the input's tokens that is left, in [0, 1]."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    def piece_text(self, piece: Piece) -> str:
        """The source text of a piece."""
        return self.passages[piece.passage].text[piece.start : piece.end]

    def excerpts(self) -> list[tuple[int, str]]:
        """Index and kept text, without header, of each passage in the context, in its order."""
        from .render import excerpt

        spans: dict[int, list[tuple[int, int]]] = {}
        spared: dict[int, list[tuple[int, int]]] = {}
        for piece in self.kept:
            spans.setdefault(piece.passage, []).append((piece.start, piece.end))
            spared.setdefault(piece.passage, []).extend(piece.spared)
        return [(i, excerpt(self.passages[i].text, spans[i], spared[i])) for i in self.order]

    def spans(self) -> dict[int, list[tuple[int, int]]]:
        """Kept character spans of each passage that has any, sorted and disjoint."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for piece in self.kept:
            shown = without((piece.start, piece.end), piece.spared)
            spans.setdefault(piece.passage, []).extend(shown)
        return spans

    def messages(self) -> list[dict[str, str]]:
        """The context and the question as chat messages.

        Control markers in them are broken by a zero-width space, for whoever tokenizes the messages
        cannot know that they are text.
        """
        from .prompt import chat_messages, defuse

        return [{**m, "content": defuse(m["content"])} for m in chat_messages(self)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON-able values; source text appears once, under "passages"."""
        from .report import as_dict

        return as_dict(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """A self-contained HTML page; also written to `path` if one is given."""
        from .html import page

        html = page(self)
        if path is not None:
            Path(path).write_text(html, encoding="utf-8", errors="replace")
        return html

    def show(self) -> None:
        """Print a coloured view to the terminal (needs the extra `cli`)."""
        from .terminal import show

        show(self)

    def title(self, index: int) -> str:
        """The header that stands above a passage in `text`."""
        titled = index not in self.untitled
        return header(self.passages[index], index, self.style, titled=titled)

    def __repr__(self) -> str:
        degraded = f", degraded: {self.degraded_reason}" if self.degraded else ""
        return (
            f"Context({len(self.order)} of {len(self.passages)} passages, "
            f"{self.tokens_before:,} -> {self.tokens_after:,} tokens, "
            f"{self.timings.get('total', 0.0):.1f} ms{degraded})"
        )

    def _repr_html_(self) -> str:
        from .html import fragment

        return fragment(self)
