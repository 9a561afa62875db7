"""`foveate.slide`: what a question needs from a text that is too long to hold.

The method of `foveate.compressors.sliding` (InfiniRetri, https://arxiv.org/abs/2502.12962, section
3) over a stream: each window is compressed together with what was kept so far, under the same
budget, by the same engine as any other request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foveate.blocks.deadline import Deadline
from foveate.blocks.errors import BudgetError, InputError
from foveate.blocks.passage import Passage
from foveate.blocks.store import MemoryStore

from .api import default_engine
from .engine import Engine, Options
from .windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from foveate.blocks.conversation import Query
    from foveate.blocks.proxy import Proxy
    from foveate.compressors.base import Scorer

    from .context import Context

WINDOW_CHARS = 4000
"""About a thousand tokens of English."""

MAX_STORE_BYTES = 128 << 20
"""Blocks kept while a stream goes by: those of what is carried and of some windows."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text of the stream, verbatim: its characters [start, end), in code points from 0.

    Attributes:
        start: First character.
        end: One past the last.
        text: What stands there.
        score: Relevance of the best of it, in [0, 1], beside what was kept with it.
    """

    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Slid:
    """What was kept of a stream.

    Attributes:
        query: The question, as it was read.
        text: The excerpts as a generator should see them, within the budget.
        excerpts: Where each stands in the stream, ascending and disjoint.
        tokens: Tokens of `text`.
        windows: Windows that were read.
        characters: Characters that were read.
        nothing: In [0, 1], how far what was kept says that the answer is not in it.
        degraded: True if BM25 stood in for the proxy in some window, or the time was over before
            the stream was.
        degraded_reason: Which, and why; empty if neither.
    """

    query: str
    text: str
    excerpts: tuple[Excerpt, ...]
    tokens: int
    windows: int
    characters: int
    nothing: float
    degraded: bool = False
    degraded_reason: str = ""


def slide(
    query: Query,
    stream: Iterable[str],
    *,
    budget: int = 512,
    window: int = WINDOW_CHARS,
    scorer: str | Scorer = "fused",
    tokenizer: Any = None,
    timeout: float | None = None,
    proxy: Proxy | str | Path | None = "default",
    engine: Engine | None = None,
) -> Slid:
    """Read a text of any length once, a window at a time, and keep what the query needs.

    Time is linear in the length of the text; memory is that of a window and the budget; the proxy's
    own store of blocks is left alone.

    Args:
        query: The question, or a conversation that ends with it.
        stream: The text in pieces of any length: an open file, a generator, a str.
        budget: Tokens that are kept, as `tokenizer` counts them.
        window: Most characters of a window.
        scorer: What decides within a window: a name or a `Scorer`.
        tokenizer: What counts tokens, as in `foveate.compress`.
        timeout: Seconds after which what was kept so far is returned, flagged.
        proxy: A loaded `Proxy`, or what `load_proxy` takes.
        engine: Used instead of the proxy's default one.

    Raises:
        InputError: The query, a piece, a name or a number cannot be used, or there is no text.
        ModelNotFoundError: The proxy is not on this machine; run `foveate models pull`.
    """
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise BudgetError(
            f"budget {budget!r} is not allowed; the length of a stream is not known beforehand: "
            "give a number of tokens"
        )
    if not isinstance(window, int) or window < 1:
        raise InputError(f"window {window!r} is not allowed; give a number of characters")
    engine = _forgetful(engine or default_engine(proxy or "default"))
    options = Options(budget, tokenizer=tokenizer)
    deadline = Deadline(timeout)
    kept = _Kept()
    for start, text in windows(stream, window):
        if deadline.left() == 0.0:
            kept.faults.append(f"the time was over after {kept.characters:,} characters")
            break
        kept.characters += len(text)
        if not text.strip():
            continue
        passages = [*kept.passages(), Passage(text, id=str(start))]
        left = replace(options, timeout=deadline.left())
        kept.take(engine.compress(query, passages, left, scorer=scorer), start)
    return kept.result(query)


def _forgetful(engine: Engine) -> Engine:
    """An engine whose blocks are of no use once their window is past, and are dropped soon."""
    proxy = engine.proxy and engine.proxy.with_store(MemoryStore(MAX_STORE_BYTES))
    return Engine(proxy, scorer=engine.scorer, orderer=engine.orderer)


class _Kept:
    """What goes on from window to window."""

    def __init__(self) -> None:
        self.excerpts: list[Excerpt] = []
        self.faults: list[str] = []
        self.characters = self.windows = 0
        self.context: Context | None = None

    def passages(self) -> list[Passage]:
        return [Passage(excerpt.text, id=str(excerpt.start)) for excerpt in self.excerpts]

    def take(self, context: Context, start: int) -> None:
        """Go on with what a context kept; its last passage begins at `start`."""
        starts = [*(excerpt.start for excerpt in self.excerpts), start]
        self.excerpts = _joined(context, starts)
        self.context = context
        self.windows += 1
        if context.degraded and context.degraded_reason not in self.faults:
            self.faults.append(context.degraded_reason)

    def result(self, query: Query) -> Slid:
        context = self.context
        if context is None:
            if not self.faults:
                raise InputError("the stream holds no text; nothing was read")
            return Slid(str(query), "", (), 0, 0, 0, 1.0, True, "; ".join(self.faults))
        return Slid(
            context.query,
            context.text,
            tuple(self.excerpts),
            context.tokens_after,
            self.windows,
            self.characters,
            context.nothing,
            bool(self.faults),
            "; ".join(self.faults),
        )


def _joined(context: Context, starts: Sequence[int]) -> list[Excerpt]:
    """Kept pieces by their place in the stream; what touches within a passage is one excerpt."""
    found: list[Excerpt] = []
    owner = -1
    for piece in context.kept:
        start, end = (starts[piece.passage] + place for place in (piece.start, piece.end))
        text = context.piece_text(piece)
        if found and owner == piece.passage and found[-1].end == start:
            last = found.pop()
            start, text = last.start, last.text + text
            found.append(Excerpt(start, end, text, max(last.score, piece.score)))
        else:
            found.append(Excerpt(start, end, text, piece.score))
        owner = piece.passage
    return found
