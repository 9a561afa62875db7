"""How much of a selection speaks of what is not there: a measure of any selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .discourse import discourse
from .leaning import introduced
from .lexical import terms

if TYPE_CHECKING:
    from collections.abc import Collection

    from .base import Candidates
    from .discourse import Discourse


def dangling(
    candidates: Candidates, kept: Collection[int], untitled: Collection[int] = ()
) -> float:
    """Share of the kept units that lean on something that is neither kept nor said by a title.

    Judged by the text that is shown, not by what the selection took for an antecedent. A sentence
    or list item leans if it opens, perhaps behind a connective or an adjunct of time or place, with
    a third-person pronoun or possessive, a demonstrative, a connective, or a definite noun that the
    sentence does not define ("the film", not "the film of 1994"), or if it is the lower-case rest
    of a sentence; see `leaning`. It dangles unless

    - the sentence before it in its passage is kept and does not dangle, or
    - it opens with a pronoun: going back over sentences that open with the same one (and over list
      items, to the sentence before them), the first other sentence is kept and does not dangle; or
      that sentence is the passage's first or names the title, the title is shown, the passage's
      first sentence names it, and no other pronoun opens more sentences of the passage; or
    - it opens with a noun: the shown title holds it, or a kept earlier sentence of the passage that
      does not dangle; or the title is shown, and no earlier sentence but the first introduces it,
      as "the population" under the name of a town (but "this idea" has to be introduced); or no
      earlier sentence introduces it, and the first is kept.

    The first sentence of a passage never dangles: what it leans on was not dropped. Pronouns
    further on in a sentence are not looked at, nor are list items without what leads in to them.

    Args:
        candidates: The units.
        kept: Those that are shown.
        untitled: Passages whose title, if they have one, is not shown.

    Returns:
        In [0, 1]; 0 if nothing is kept.
    """
    shown = set(kept)
    loose = 0
    for passage in sorted({int(candidates.owners[unit]) for unit in shown}):
        source, units = candidates.passages[passage], candidates.units_in(passage)
        title = "" if passage in untitled else source.title
        told = discourse(source.text, candidates.units[units.start : units.stop], title)
        loose += _loose(told, {unit - units.start for unit in shown.intersection(units)})
    return loose / len(shown) if shown else 0.0


def _loose(told: Discourse, shown: Collection[int]) -> int:
    """How many of the sentences that are shown dangle."""
    places = [place for place, unit in enumerate(told.units) if unit in shown]
    firm: set[int] = set()
    for place in places:
        if place == 0 or _holds(told, place, firm):
            firm.add(place)
    return len(places) - len(firm)


def _holds(told: Discourse, place: int, firm: set[int]) -> bool:
    """Whether a sentence leans on nothing, or on what is shown."""
    opening = told.openings[place]
    if not opening.leans or place - 1 in firm:
        return True
    if opening.points or opening.continues:
        return False
    if opening.nouns:
        return _is_known(told, place, firm)
    return _is_named(told, place, firm)


def _is_named(told: Discourse, place: int, firm: set[int]) -> bool:
    pronoun = told.openings[place].personal
    source = told.before[place]
    while source and told.openings[source].personal == pronoun:
        source = told.before[source]
    if source in firm:
        return True
    titled = told.is_about_title and pronoun == told.pronoun
    return titled and (source == 0 or told.names_title(told.texts[source]))


def _is_known(told: Discourse, place: int, firm: set[int]) -> bool:
    nouns = set(told.openings[place].nouns)
    if not nouns.isdisjoint(told.title):
        return True
    if any(n < place and not nouns.isdisjoint(terms(told.texts[n])) for n in firm):
        return True
    new = [n for n in range(place) if not nouns.isdisjoint(introduced(told.texts[n]))]
    if told.title and not any(new):  # none but the first, if any
        return bool(new) or not told.openings[place].near
    return not new and 0 in firm
