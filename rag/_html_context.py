"""The parts of a context's view: what it cost, what stands where, the time, and the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._html_charts import slope, waterfall
from ._html_text import escape, milliseconds, percent, plural, reduction, share
from ._view import Gap, view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._view import Card, Run, View
    from .context import Context, Piece

MAX_TEXT = 300_000
"""Characters of source text beyond which only kept units and their neighbours are shown."""

MAX_NAME = 300  # characters of a title or an id
MAX_QUERY = 4_000


def context_view(context: Context, prefix: str = "") -> str:
    """A context as one element.

    Args:
        context: What to show.
        prefix: Makes the anchors of passages, `{prefix}-p{number}`; none are made without it.
    """
    seen = view(context, max_text=MAX_TEXT)
    return "".join(
        (
            '<section class="fv-context">',
            *_head(context),
            f'<div class="fv-charts">{_order(context, seen)}{_timings(context)}</div>',
            *_notes(seen),
            '<ol class="fv-cards">',
            *(_card(card, prefix) for card in seen.cards),
            f"</ol>{_foot()}</section>",
        )
    )


def anchor(prefix: str, index: int) -> str:
    """The id of a passage's card on the page."""
    return f"{prefix}-p{index + 1}"


def _head(context: Context) -> Iterator[str]:
    query = context.query[:MAX_QUERY] + ("…" if len(context.query) > MAX_QUERY else "")
    yield '<header class="fv-head"><div class="fv-label">Question</div>'
    yield f'<div class="fv-query" dir="auto">{escape(query)}</div>'
    yield _count(context)
    yield _meter(context)
    yield _facts(context)
    if context.degraded:
        yield (
            '<div class="fv-warn" role="note"><b>Degraded.</b> A simpler method stood in: '
            f"{escape(context.degraded_reason[:MAX_QUERY]) or 'no reason was given'}</div>"
        )
    yield "</header>"


def _count(context: Context) -> str:
    before, after = context.tokens_before, context.tokens_after
    return (
        f'<div class="fv-count fv-num"><b>{before:,} → {after:,} '
        f"<i>({reduction(before, after)})</i></b><span>tokens</span>"
        f"<span>{len(context.order):,} of {plural(len(context.passages), 'passage')}</span>"
        f"<span>{len(context.kept):,} of {plural(len(context.pieces), 'unit')}</span>"
        f"<span>{milliseconds(context.timings.get('total', 0.0))}</span></div>"
    )


def _meter(context: Context) -> str:
    before = max(context.tokens_before, 1)
    filled, limit = context.tokens_after / before, context.limit / before
    tick = f'<b style="left:{percent(limit)}" title="limit: {context.limit:,} tokens"></b>'
    title = f"{context.tokens_after:,} of {context.tokens_before:,} tokens"
    return (
        f'<div class="fv-meter" title="{title}">'
        f'<i style="width:{percent(filled)}"></i>{tick if limit < 1 else ""}</div>'
    )


def _facts(context: Context) -> str:
    facts = {
        "limit": f"{context.limit:,} tokens",
        "scorer": context.scorer,
        "order": context.orderer,
        "nothing relevant": f"{share(context.nothing):.0%}",
    }
    items = (f"<span>{escape(name)} <b>{escape(fact)}</b></span>" for name, fact in facts.items())
    return f'<div class="fv-facts fv-num">{"".join(items)}</div>'


def _order(context: Context, seen: View) -> str:
    return f'<figure><div class="fv-label">Order</div>{slope(context, seen)}</figure>'


def _timings(context: Context) -> str:
    if not context.timings:
        return ""
    return f'<figure><div class="fv-label">Time</div>{waterfall(context.timings)}</figure>'


def _card(card: Card, prefix: str) -> str:
    name = f' id="{escape(anchor(prefix, card.index))}"' if prefix else ""
    out = "" if card.place is not None else " fv-out"
    state = " open" if card.place is not None else ""
    body = "".join(_gap(run) if isinstance(run, Gap) else _run(run) for run in card.runs)
    return (
        f'<li class="fv-card{out}"{name}><details{state}><summary>'
        f'<span class="fv-badge fv-num">{card.index + 1}</span>{_name(card)}'
        f"{_bar('score', f'{share(card.score):.2f}', card.score, 'fv-score')}"
        f"{_bar('kept', f'{card.share:.0%}', card.share)}</summary>"
        f'<div class="fv-text" dir="auto">{body or "<i>empty</i>"}</div></details></li>'
    )


def _name(card: Card) -> str:
    place = "left out" if card.place is None else f"no. {card.place + 1} in the context"
    facts = [
        place,
        f"{card.kept_units:,} of {plural(card.units, 'unit')}",
        f"{card.kept_tokens:,} of {plural(card.tokens, 'token')}",
    ]
    named = f"<bdi>{escape(card.id[:MAX_NAME])}</bdi> · " if card.id != card.name else ""
    title = escape(card.name[:MAX_NAME])
    return (
        f'<span class="fv-name"><b title="{title}"><bdi>{title}</bdi></b>'
        f'<small class="fv-num">{named}{" · ".join(facts)}</small></span>'
    )


def _bar(label: str, value: str, filled: float, extra: str = "") -> str:
    return (
        f'<span class="fv-bar fv-num {extra}"><span>{label}<b>{value}</b></span>'
        f'<u><i style="width:{percent(filled)}"></i></u></span>'
    )


def _run(run: Run) -> str:
    # Blanks around the words stay outside, so that no colour hangs over a line's end.
    words = run.text.strip()
    if not words:
        return escape(run.text)
    start = run.text.index(words)
    lead, trail = run.text[:start], run.text[start + len(words) :]
    cut = _note(f"{run.cut:,} more characters") if run.cut else ""
    return f"{escape(lead)}{_piece(run, words)}{cut}{escape(trail)}"


def _piece(run: Run, words: str) -> str:
    piece = run.piece
    why = escape(
        f"score {share(piece.score):.2f} · {'kept' if piece.kept else 'dropped'}: {piece.reason} · "
        f"{plural(piece.tokens, 'token')} · {piece.kind.replace('_', ' ')} · "
        f"characters {piece.start:,}–{piece.end:,}"
    )
    if piece.kept:
        weight = f"{share(piece.score):.2f}"
        mark = f'<mark style="--s:{weight}" title="{why}">{_struck(run, words)}</mark>'
        return mark + _also(piece)
    return f'<span class="fv-drop" title="{why}">{escape(words)}</span>'


def _also(piece: Piece) -> str:
    """The numbers of other passages that say the same."""
    numbers = ", ".join(f"{index + 1:,}" for index in piece.also_in)
    also = f'<sup class="fv-also fv-num" title="also in {numbers}">= {numbers}</sup>'
    return also if numbers else ""


def _struck(run: Run, words: str) -> str:
    """A kept piece; the words that were left out of it struck through."""
    shown = run.piece.start + run.text.index(words)
    parts, at = [], 0
    for start, end in run.piece.spared:
        first, last = (min(max(place - shown, 0), len(words)) for place in (start, end))
        parts += [escape(words[at:first]), f"<s>{escape(words[first:last])}</s>"]
        at = last
    return "".join((*parts, escape(words[at:])))


def _gap(gap: Gap) -> str:
    units, characters = plural(gap.units, "unit"), plural(gap.characters, "character")
    return _note(f"{units}, {characters} not shown") + " "


def _note(text: str) -> str:
    return f'<span class="fv-gap">… {text} …</span>'


def _notes(seen: View) -> Iterator[str]:
    if seen.trimmed:
        yield (
            '<div class="fv-note" role="note">A long input: only kept units and their neighbours '
            f"are shown, up to {MAX_TEXT:,} characters.</div>"
        )
    if seen.hidden:
        more = f"{plural(seen.hidden, 'more passage')}, not listed"
        yield f'<div class="fv-note" role="note">{more}.</div>'


def _foot() -> str:
    return (
        '<footer class="fv-foot"><span><mark style="--s:1">kept, high score</mark></span>'
        '<span><mark style="--s:.1">kept, low score</mark></span>'
        '<span class="fv-drop">dropped</span><span>hover for score and reason</span></footer>'
    )
