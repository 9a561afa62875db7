from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from foveate.blocks.passage import Passage
from foveate.rag.context import Context, Piece
from foveate.rag.render import Style, render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UnitRow = tuple[str, float, bool]
PassageRow = tuple[str, str, "Sequence[UnitRow]"]

EIFFEL: Sequence[PassageRow] = (
    (
        "eiffel",
        "Eiffel Tower",
        [
            ("The Eiffel Tower stands in Paris. ", 0.91, True),
            ("It was painted eighteen times. ", 0.07, False),
            ("Gustave Eiffel's company built it in 1889.", 0.83, True),
        ],
    ),
    ("louvre", "", [("The Louvre is a museum.", 0.12, False)]),
    ("seine", "Seine", [("The Seine flows by. ", 0.44, True), ("It is 777 km long.", 0.2, False)]),
)


class MakeContext(Protocol):
    def __call__(
        self,
        rows: Sequence[PassageRow] = ...,
        *,
        query: str = ...,
        order: Sequence[int] | None = ...,
        style: Style = ...,
        timings: Mapping[str, float] = ...,
        metadata: Mapping[str, Any] | None = ...,
        degraded_reason: str = ...,
    ) -> Context: ...


@pytest.fixture(scope="session")
def make_context() -> MakeContext:
    """Contexts from rows of (id, title, units); a unit is (text, score, kept), a word a token."""
    return _context


def _context(
    rows: Sequence[PassageRow] = EIFFEL,
    *,
    query: str = "Who built the Eiffel Tower?",
    order: Sequence[int] | None = None,
    style: Style = Style(numbered=True),  # noqa: B008 - frozen
    timings: Mapping[str, float] | None = None,
    metadata: Mapping[str, Any] | None = None,
    degraded_reason: str = "",
) -> Context:
    passages = tuple(
        Passage("".join(text for text, _, _ in units), id, title, metadata or {})
        for id, title, units in rows
    )
    pieces = tuple(_pieces(rows))
    spans: dict[int, list[tuple[int, int]]] = {}
    for piece in pieces:
        if piece.kept:
            spans.setdefault(piece.passage, []).append((piece.start, piece.end))
    order = tuple(sorted(spans) if order is None else order)
    whole = {i: [(0, len(passage.text))] for i, passage in enumerate(passages)}
    text = render(passages, spans, order, style)
    before = len(render(passages, whole, range(len(passages)), style).split())
    return Context(
        query=query,
        text=text,
        passages=passages,
        pieces=pieces,
        order=order,
        passage_scores=tuple(max((s for _, s, _ in units), default=0.0) for _, _, units in rows),
        nothing=0.05,
        tokens_before=before,
        tokens_after=len(text.split()),
        limit=before // 2,
        timings=timings or {"segment": 0.41234, "encode": 12.5, "read": 3.25, "total": 18.2},
        scorer="fused",
        orderer="attention-sorting",
        degraded=bool(degraded_reason),
        degraded_reason=degraded_reason,
        style=style,
    )


def _pieces(rows: Sequence[PassageRow]) -> Any:
    for passage, (id, _, units) in enumerate(rows):
        start = 0
        for text, score, kept in units:
            end = start + len(text)
            reason = "relevant" if kept else "less relevant than what fits"
            yield Piece(passage, id, start, end, "sentence", score, kept, reason, len(text.split()))
            start = end
