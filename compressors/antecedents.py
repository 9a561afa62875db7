"""What a unit leans on: the unit of its own passage that says what it speaks of.

A sentence that opens with a pronoun goes on about the subject of the one before it; so the subjects
of a passage are followed from sentence to sentence, after centering theory (see `leaning`). Where
the subject is what the passage's title names, the title says it, and nothing else is needed. "The
film" needs the unit that introduced a film, unless the title is that film's. "This" and "However,"
need the sentence before. List items need the line that leads in to them, code its signature.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from foveate.blocks.segment import segment

from .discourse import discourse
from .lead_ins import lead_ins
from .leaning import introduced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.blocks.passage import Unit

    from .base import Candidates
    from .discourse import Discourse
    from .leaning import Opening

SHORT_CHARS, MAX_SHORT_PASSAGES = 8_000, 2_048
LONG_CHARS, MAX_LONG_PASSAGES = 128_000, 64
"""Passages that were gone through are remembered: so many of each length, none that is longer."""

TITLE = -1
"""Stands for a unit where the title says what is spoken of."""

EARLY_TERMS = 12
"""Named among so many first terms of a sentence, the title's thing is its subject."""


def antecedents(candidates: Candidates, *, titled: bool = True) -> dict[int, tuple[int, ...]]:
    """For each unit that leans on others, those that say what it speaks of.

    They are earlier units of the same passage, so nothing leans on itself by way of others. What
    the first sentence of a passage leans on is nowhere, and brings nothing.

    Args:
        candidates: The units.
        titled: Whether titles are shown; passages that have none are never understood by one.
    """
    found: dict[int, tuple[int, ...]] = {}
    for passage, first in enumerate(candidates.firsts.tolist()):
        text, title = candidates.passages[passage].text, candidates.passages[passage].title
        title = title if titled else ""
        if len(text) > LONG_CHARS:
            units = candidates.units_in(passage)
            own = _read(text, title, candidates.units[units.start : units.stop])
        else:
            own = (_read_short if len(text) <= SHORT_CHARS else _read_long)(text, title)
        for unit, others in own:
            found[first + unit] = tuple(first + other for other in others)
    return found


def _read(
    text: str, title: str, units: Sequence[Unit] | None = None
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """(unit, those that it leans on), as places in the passage."""
    units = segment(text) if units is None else units
    told = discourse(text, units, title)
    found: dict[int, set[int]] = {}
    if any(opening.leans for opening in told.openings):
        _Train(told).into(found)
    for unit, over in lead_ins(text, units):
        found.setdefault(unit, set()).add(over)
    return tuple((unit, tuple(sorted(others))) for unit, others in found.items())


_read_short = lru_cache(maxsize=MAX_SHORT_PASSAGES)(_read)
_read_long = lru_cache(maxsize=MAX_LONG_PASSAGES)(_read)


class _Train:
    """A passage's sentences, gone through once from the first to the last; units are places."""

    def __init__(self, told: Discourse) -> None:
        self._told = told
        self._subjects: list[int] = []  # of each sentence so far: one of `units`, or TITLE
        self._asked = {noun for opening in told.openings for noun in opening.nouns}
        self._introduced: dict[str, int] = {}  # the last unit that introduced each of them

    def into(self, found: dict[int, set[int]]) -> None:
        """Add what each unit leans on."""
        told = self._told
        for place, (unit, opening) in enumerate(zip(told.units, told.openings, strict=True)):
            on = self._leans_on(place, opening) if place else None
            self._subjects.append(self._subject(place, on))
            needs = {on} if on is not None else set()
            if place and (opening.points or opening.continues):
                needs.add(told.units[place - 1])
            if needs := needs - {TITLE}:
                found.setdefault(unit, set()).update(needs)
            if self._asked:
                news = self._asked & introduced(told.texts[place])
                self._introduced.update(dict.fromkeys(news, unit))

    def _subject(self, place: int, on: int | None) -> int:
        told = self._told
        if on is not None:
            return on
        if place and told.openings[place].continues:
            return self._subjects[told.before[place]]
        within = EARLY_TERMS if place else None
        named = told.names_title(told.texts[place], within)
        return TITLE if named else told.units[place]

    def _leans_on(self, place: int, opening: Opening) -> int | None:
        """The unit that says what a sentence's subject is, or TITLE; None if it says so itself."""
        told = self._told
        if opening.nouns:
            return self._known(place, opening)
        if not opening.personal:
            return None
        before = told.before[place]
        subject = self._subjects[before]
        same = told.openings[before].personal == opening.personal
        if same or (subject == TITLE and told.agrees(opening.personal)):
            return subject
        return told.units[before]

    def _known(self, place: int, opening: Opening) -> int | None:
        """What a noun was introduced by that a sentence takes as known."""
        told = self._told
        if not (told.title | told.kinds).isdisjoint(opening.nouns):
            return TITLE
        units = (self._introduced[noun] for noun in opening.nouns if noun in self._introduced)
        if (unit := next(units, None)) is not None:
            return unit
        if opening.near:
            return told.units[place - 1]
        # Nobody introduced it: a part or property of what the passage is about.
        return TITLE if told.title else told.units[0]
