"""What every adapter shares: a document becomes a passage, a context becomes documents again.

A document of any library is a text, an id and a mapping of metadata; an adapter names those
three and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foveate.blocks.passage import Passage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from foveate.blocks.counting import TokenCounter

    from .context import Context
    from .engine import Pin

NAMESPACE = "foveate"
"""The one metadata key under which everything of ours stands."""

SCORE_KEY = "relevance_score"
"""The metadata key that LangChain's own rerankers use for the score."""


@dataclass(frozen=True, slots=True, eq=False)
class Excerpt:
    """What the context holds of one document.

    Attributes:
        index: The document's place in the list that was given.
        text: Its kept text, verbatim, with `…` where something was left out.
        score: Calibrated relevance of the document in [0, 1].
        record: Where the text came from and what it cost: plain JSON-able values.
    """

    index: int
    text: str
    score: float
    record: dict[str, Any]

    def metadata(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """The document's own metadata with ours beside it, in a new dict."""
        return {**own, SCORE_KEY: self.score, NAMESPACE: self.record}


def passage_of(
    text: str, *, id: str | None, metadata: Mapping[str, Any], title_key: str = "title"
) -> Passage:
    """A document as a passage; its title is what `title_key` holds, if that is a text."""
    title = metadata.get(title_key)
    return Passage(text, id or "", title if isinstance(title, str) else "", metadata)


def pins_among(pins: Iterable[Pin], ids: Collection[str]) -> tuple[Pin, ...]:
    """Pins whose document is there: a retriever does not find every document every time."""
    return tuple(pin for pin in pins if (pin if isinstance(pin, str) else pin[0]) in ids)


def excerpts(context: Context, count: TokenCounter, *, top_n: int | None = None) -> list[Excerpt]:
    """The documents that the context holds, in its order.

    Args:
        context: What the engine chose.
        count: The caller's token counter.
        top_n: At most that many documents: pinned ones first, then the most relevant.
    """
    spans = context.spans()
    best = _best(context, top_n)
    held = [(i, text) for i, text in context.excerpts() if i in best]
    return [
        Excerpt(
            i, text, context.passage_scores[i], _record(context, i, place, spans[i], text, count)
        )
        for place, (i, text) in enumerate(held)
    ]


def _best(context: Context, top_n: int | None) -> frozenset[int]:
    if top_n is None:
        return frozenset(context.order)
    pinned = {piece.passage for piece in context.kept if piece.reason == "pinned"}
    ranked = sorted(context.order, key=lambda i: (i not in pinned, -context.passage_scores[i]))
    return frozenset(ranked[:top_n])


def _record(
    context: Context,
    index: int,
    place: int,
    spans: list[tuple[int, int]],
    text: str,
    count: TokenCounter,
) -> dict[str, Any]:
    """The metadata of one document.

    `spans` are characters of the document's text as it was given, sorted and disjoint; `order` is
    its place in the context, `index` its place in the list that was given; both token counts are
    of this document alone.
    """
    return {
        "spans": [[start, end] for start, end in spans],
        "tokens_before": count(context.passages[index].text),
        "tokens_after": count(text),
        "order": place,
        "index": index,
        "degraded": context.degraded,
        "degraded_reason": context.degraded_reason,
    }
