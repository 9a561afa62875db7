"""Small charts without scripts: order before and after, and where the time went."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._html_text import escape, milliseconds, percent, share
from ._view import clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ._view import Card, View
    from .context import Context

MAX_ROWS = 20
ROW, TOP, LEFT, RIGHT, WIDTH = 24, 26, 186, 294, 480  # pixels
LABEL = 22  # columns of text
STAGE_COLOURS = 7


def slope(context: Context, seen: View) -> str:
    """Passages as they came on the left, as they stand in the context on the right."""
    cards = sorted(seen.cards, key=lambda card: card.index)
    rows = _rows(cards)
    height = TOP + ROW * max(len(rows), 1)
    hidden = len(context.passages) - len(rows)
    more = f'<div class="fv-facts">{hidden:,} more passages are not drawn</div>' if hidden else ""
    head = (
        f'<text class="fv-head-text" x="{LEFT - 14}" y="12" text-anchor="end">as retrieved</text>'
        f'<text class="fv-head-text" x="{RIGHT + 14}" y="12">in the context</text>'
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="order of passages before and after">'
        f"{head}{''.join(_links(rows))}</svg>{more}"
    )


def waterfall(timings: Mapping[str, float]) -> str:
    """One bar a stage, each beginning where the one before it ended."""
    stages = _stages(timings)
    total = _total(timings)
    scale = total or 1.0
    start, rows = 0.0, []
    for i, (stage, spent) in enumerate(stages.items()):
        rows.append(
            f"<span>{escape(stage)}</span>"
            f'<span class="fv-track"><i style="left:{percent(start / scale)};'
            f'width:{percent(spent / scale)};--c:{_colour(i)}"></i></span>'
            f'<span class="fv-num">{milliseconds(spent)}</span>'
        )
        start += spent
    rows.append(
        '<span class="fv-sum">total</span><span></span>'
        f'<span class="fv-num fv-sum">{milliseconds(total)}</span>'
    )
    return f'<div class="fv-fall">{"".join(rows)}</div>'


def stacks(runs: Mapping[str, Mapping[str, float]]) -> str:
    """Several timings as stacked bars on one scale."""
    names = list(dict.fromkeys(stage for timings in runs.values() for stage in _stages(timings)))
    colours = {name: _colour(i) for i, name in enumerate(names)}
    longest = max((_total(timings) for timings in runs.values()), default=0.0) or 1.0
    rows = "".join(_stack(run, timings, colours, longest) for run, timings in runs.items())
    key = "".join(f'<li style="--c:{colours[name]}">{escape(name)}</li>' for name in names)
    return f'<div class="fv-fall">{rows}</div><ul class="fv-key">{key}</ul>{_speedup(runs)}'


def _speedup(runs: Mapping[str, Mapping[str, float]]) -> str:
    if len(runs) < 2:
        return ""
    (first, slow), *_, (last, fast) = runs.items()
    if not 0 < _total(fast) < _total(slow):
        return ""
    times = _total(slow) / _total(fast)
    return (
        f'<div class="fv-facts"><span>{escape(last)} is <b>{times:.1f} times</b> '
        f"as fast as {escape(first)}</span></div>"
    )


def _rows(cards: Sequence[Card]) -> list[Card]:
    """In the caller's order; if there are too many, those of the context go first."""
    if len(cards) <= MAX_ROWS:
        return list(cards)
    ranked = sorted(cards, key=lambda card: (card.place is None, card.place or 0, card.index))
    return sorted(ranked[:MAX_ROWS], key=lambda card: card.index)


def _links(rows: Sequence[Card]) -> Iterator[str]:
    kept = sorted((c for c in rows if c.place is not None), key=lambda c: c.place or 0)
    targets = {card.index: place for place, card in enumerate(kept)}
    for row, card in enumerate(rows):
        y = _y(row)
        off = "" if card.index in targets else ' class="fv-off"'
        yield f"<g><title>{escape(card.name[:200])} · score {share(card.score):.2f}</title>"
        yield f'<text{off} x="{LEFT - 14}" y="{y + 4}" text-anchor="end">{_label(card)}</text>'
        yield f'<circle{off} cx="{LEFT}" cy="{y}" r="4"/>'
        if card.index in targets:
            yield _link(card, y, _y(targets[card.index]))
        yield "</g>"


def _link(card: Card, y: int, other: int) -> str:
    middle = (LEFT + RIGHT) // 2
    weight = f"{0.35 + 0.65 * share(card.score):.2f}"
    return (
        f'<path stroke-opacity="{weight}" '
        f'd="M{LEFT} {y}C{middle} {y} {middle} {other} {RIGHT} {other}"/>'
        f'<circle cx="{RIGHT}" cy="{other}" r="4"/>'
        f'<text x="{RIGHT + 14}" y="{other + 4}">{_label(card)}</text>'
    )


def _y(row: int) -> int:
    return TOP + ROW * row + ROW // 2


def _label(card: Card) -> str:
    number = f"{card.index + 1}"
    name = card.name if card.name != number else ""
    return escape(f"{number}  {clip(name, LABEL)}".rstrip())


def _stages(timings: Mapping[str, float]) -> dict[str, float]:
    """The stages without the total; what none of them accounts for is "other"."""
    stages = {
        name: spent if math.isfinite(spent) and spent > 0 else 0.0
        for name, spent in timings.items()
        if name != "total"
    }
    rest = _total(timings) - sum(stages.values())
    return {**stages, "other": rest} if stages and rest > 0.01 * _total(timings) else stages


def _total(timings: Mapping[str, float]) -> float:
    spent = sum(v for name, v in timings.items() if name != "total" and math.isfinite(v) and v > 0)
    total = timings.get("total", spent)
    return max(total, spent) if math.isfinite(total) else spent


def _stack(
    run: str, timings: Mapping[str, float], colours: Mapping[str, str], longest: float
) -> str:
    parts = "".join(
        f'<i style="width:{percent(spent / longest)};--c:{colours[stage]}" '
        f'title="{escape(stage)}: {milliseconds(spent)}"></i>'
        for stage, spent in _stages(timings).items()
    )
    return (
        f'<span>{escape(run)}</span><span class="fv-stack">{parts}</span>'
        f'<span class="fv-num fv-sum">{milliseconds(_total(timings))}</span>'
    )


def _colour(place: int) -> str:
    return f"var(--c{min(place, STAGE_COLOURS - 1)})"
