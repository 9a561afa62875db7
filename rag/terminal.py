"""A context in the terminal: kept text coloured by its score, dropped text dim."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foveate.blocks.errors import MissingExtraError

from ._html_text import milliseconds, plural, reduction, share
from ._view import Gap, clip, view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType
    from rich.text import Text

    from ._view import Card, Run
    from .context import Context

MAX_TEXT = 20_000
"""Characters of source text beyond which only kept units and their neighbours are shown."""

LEGEND = (
    "‹dropped› (score). Tokens of a passage are those of its units, each alone; joined, they may "
    "take a few fewer or more."
)

BAR = 12  # columns
SHADES = ("cyan", "green", "bold green")
"""Styles of kept text, from low to high score: colours that every terminal theme makes legible."""

# A passage must not move the cursor, clear the screen or set the clipboard.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def show(context: Context, console: Console | None = None) -> None:
    """Print a context.

    Where there are no colours, as in a file or a pipe, dropped text stands in ‹ ›, and behind each
    unit its score.

    Args:
        context: What to print.
        console: Where to; standard output by default, without colours if NO_COLOR is set.

    Raises:
        MissingExtraError: The extra `cli` is not installed.
    """
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingExtraError("rich", "cli") from error
    console = console or Console()
    plain = console.color_system is None
    for renderable in _lines(context, plain):
        console.print(renderable, soft_wrap=plain)


def _lines(context: Context, plain: bool) -> Iterator[RenderableType]:
    from rich.text import Text

    yield Text(_clean(clip(context.query, 500)), "bold")
    yield _counts(context)
    yield Text(_times(context), "dim")
    if context.degraded:
        yield Text(f"degraded: {_clean(context.degraded_reason)}", "bold red")
    if plain:
        yield Text(LEGEND)
    seen = view(context, max_text=MAX_TEXT)
    for card in seen.cards:
        yield Text("")
        yield _header(card)
        if card.place is not None:
            yield _body(card, plain)
    for note in _notes(seen.trimmed, seen.hidden):
        yield Text(f"\n{note}", "dim italic")


def _counts(context: Context) -> Text:
    from rich.text import Text

    before, after = context.tokens_before, context.tokens_after
    return Text.assemble(
        (f"{before:,} → {after:,}", "bold"),
        (f" ({reduction(before, after)})", "bold cyan"),
        f" tokens of {context.limit:,} · {len(context.order):,} of "
        f"{plural(len(context.passages), 'passage')} · {len(context.kept):,} of "
        f"{plural(len(context.pieces), 'unit')} · {context.scorer} · {context.orderer}",
    )


def _times(context: Context) -> str:
    return " · ".join(f"{stage} {milliseconds(ms)}" for stage, ms in context.timings.items())


def _header(card: Card) -> Text:
    from rich.text import Text

    filled = round(BAR * share(card.score))
    out = card.place is None
    return Text.assemble(
        (f"[{card.index + 1}] ", "dim" if out else "bold cyan"),
        (_clean(clip(card.name, 60)), "dim" if out else "bold"),
        ("  " + "━" * filled, SHADES[-1]),
        ("╌" * (BAR - filled), "dim"),
        (f" {share(card.score):.2f} ", ""),
        (
            f"left out, {plural(card.tokens, 'token')}"
            if out
            else f"kept {card.kept_tokens:,} of {plural(card.tokens, 'token')}",
            "dim",
        ),
    )


def _body(card: Card, plain: bool) -> Text:
    from rich.text import Text

    text = Text()
    for run in card.runs:
        if isinstance(run, Gap):
            text.append(f"… {plural(run.units, 'unit')} not shown … ", "dim italic")
        else:
            _append(text, run, plain)
    text.rstrip()
    return text


def _append(text: Text, run: Run, plain: bool) -> None:
    shown = run.text.rstrip()
    words = _clean(shown)
    blanks = run.text[len(run.text.rstrip()) :]
    cut = " …" if run.cut else ""
    if run.piece.kept:
        shade = SHADES[min(int(share(run.piece.score) * len(SHADES)), len(SHADES) - 1)]
        for part, gone in _parts(run, shown):
            text.append(_clean(part), f"{shade} strike" if gone else shade)
        text.append(cut, shade)
        if run.piece.also_in:
            text.append(f" [= {', '.join(str(i + 1) for i in run.piece.also_in)}]", "dim")
    else:
        text.append(f"‹{words}{cut}›" if plain else words + cut, "dim")
    if plain and words:
        text.append(f" ({share(run.piece.score):.2f})", "dim")
    text.append(_clean(blanks))


def _parts(run: Run, shown: str) -> Iterator[tuple[str, bool]]:
    """The text of a kept piece, and whether a part of it was left out."""
    at = 0
    for start, end in run.piece.spared:
        first, last = start - run.piece.start, end - run.piece.start
        yield shown[at:first], False
        yield shown[first:last], True
        at = last
    yield shown[at:], False


def _notes(trimmed: bool, hidden: int) -> Iterator[str]:
    if trimmed:
        yield "A long input: only kept units and their neighbours are shown."
    if hidden:
        yield f"{plural(hidden, 'more passage')}, not listed."


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
