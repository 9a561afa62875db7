"""Cutting a passage into units: sentences, list items, table rows, headings, groups of statements.

Structure comes first (fences, tables, lists, headings), then sentences by sentencex, then a cut at
the best marks for whatever is still too long. Units tile their text, whatever it is:
`"".join(text[u.start:u.end] for u in segment(text)) == text`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..passage import Unit
from .estimate import estimate_tokens
from .languages import guess_language
from .sentences import CRUMB_CHARS, is_crumb
from .source import Draft, Source
from .split import cut_points
from .structure import draft_units
from .unit_cache import UnitCache

__all__ = ["MAX_UNIT_TOKENS", "estimate_tokens", "segment"]

# Longest unit, white space behind it aside, in tokens as `estimate_tokens` counts them.
MAX_UNIT_TOKENS = 96

_NEVER_CRUMBS = frozenset(("code", "table_row"))
_LED_BY_FIRST_PART = frozenset(("table_row", "list_item"))

_cache = UnitCache(max_chars=16_000_000)


def segment(text: str, *, language: str | None = None) -> tuple[Unit, ...]:
    """Cut `text` into the smallest things that make sense on their own.

    Units are sorted, disjoint and contiguous. White space belongs to the unit before it, that at
    the very start to the first unit; no unit is white space alone unless the text is. None is
    longer than `MAX_UNIT_TOKENS`. Table rows require the header of their table, statements in a
    fenced block its opening fence, later parts of a list item or of a long row the first part.

    Linear in the length of the text; what was cut before is remembered for the life of the process,
    up to a fixed number of characters.

    Args:
        text: Any string: empty, of any script, with control characters or lone surrogates.
        language: ISO 639-1 code that chooses the sentence rules; None guesses it from the letters.

    Returns:
        The units; none for the empty text.
    """
    known = _cache.get(text, language)
    return known if known is not None else _cache.put(text, language, _segment(text, language))


def _segment(text: str, language: str | None) -> tuple[Unit, ...]:
    if not text:
        return ()
    source = Source.of(text, language or guess_language(text))
    if not source.lines:
        return (Unit(0, len(text)),)
    return _as_units(source, _without_crumbs(source.text, draft_units(source)))


def _without_crumbs(text: str, drafts: list[Draft]) -> list[Draft]:
    """Join sentences that say nothing on their own to the one before, or to what they announce."""
    kept: list[Draft] = []
    waiting: int | None = None  # start of a crumb that the next draft takes in
    for draft, end in zip(drafts, [*(d.start for d in drafts[1:]), len(text)], strict=True):
        if waiting is not None:
            draft = replace(draft, start=waiting)
        waiting = None
        if draft.kind in _NEVER_CRUMBS or end - draft.start > CRUMB_CHARS:
            kept.append(draft)
        elif kept and not any(map(str.isalnum, text[draft.start : end])):
            continue
        elif not is_crumb(text[draft.start : end]) or (end == len(text) and not kept):
            kept.append(draft)
        elif end < len(text):
            waiting = draft.start
    return kept


def _as_units(source: Source, drafts: list[Draft]) -> tuple[Unit, ...]:
    """Cut long drafts to size and number everything."""
    units: list[Unit] = []
    numbers: dict[int, range] = {}  # start of a draft -> its units
    for draft, end in zip(drafts, [*(d.start for d in drafts[1:]), len(source.text)], strict=True):
        first = len(units)
        needed = [n for start in draft.needs for n in numbers.get(start, ())]
        for piece, (start, stop) in enumerate(pairwise(_bounds(source, draft, end))):
            leads = (first,) if piece and draft.kind in _LED_BY_FIRST_PART else ()
            start = start if units else 0
            units.append(Unit(start, stop, draft.kind, (*needed, *leads)))
        # A header is needed whole, of a long list item only the part that says what it is about.
        last = len(units) if draft.kind == "table_row" else first + 1
        numbers[draft.start] = range(first, last)
    return tuple(units)


def _bounds(source: Source, draft: Draft, end: int) -> list[int]:
    if source.ruler.size(draft.start, end) < MAX_UNIT_TOKENS / 2:
        return [draft.start, end]  # the common case, and the one that must be cheap
    shown_end = draft.start + len(source.text[draft.start : end].rstrip())
    cuts = cut_points(
        source.text,
        draft.start,
        shown_end,
        ruler=source.ruler,
        limit=MAX_UNIT_TOKENS,
        kind=draft.kind,
    )
    return [draft.start, *cuts, end]
