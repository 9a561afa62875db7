"""A passage as a train of sentences: how each opens, and what the title says of their subject."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from foveate.blocks.memo import remembering
from foveate.blocks.segment.languages import guess_language

from .leaning import Opening, opening_in
from .lexical import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.blocks.passage import Unit

_RUNNING = ("sentence", "list_item")
_FUNCTION_WORDS = frozenset(
    (
        "a",
        "an",
        "and",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "or",
        "the",
        "to",
        "with",
    )
)
_BRACKETED = re.compile(r"\([^()]*\)")
_PREDICATE = re.compile(
    r"\b(?:is|was|are|were)\s+(?:(?:one|any|part|each|some|the name|a (?:type|kind|form)) of\s+)?"
    r"(?P<kind>[^.,;:]*?)(?=[.,;:]|\b(?:of|in|by|on|at|for|from|to|that|which|who|with|where)\b|$)"
)


@dataclass(frozen=True, slots=True)
class Discourse:
    """The running text of one passage.

    Attributes:
        units: Places of its sentences and list items among its units, ascending.
        texts: Their texts.
        openings: How they open.
        before: For each, the place among `units` of the sentence before it, list items skipped; or,
            if there is none, of the item before it. -1 for the first.
        title: Terms of the title, without function words; none where no title is shown.
        kinds: Terms of what the first sentence says that the title's thing is: "a 2007 comedy
            film"; none where that sentence does not name the title.
        pronoun: The pronoun that sentences of the passage open with most often: what it is about is
            spoken of by it.
    """

    units: tuple[int, ...]
    texts: tuple[str, ...]
    openings: tuple[Opening, ...]
    before: tuple[int, ...]
    title: frozenset[str]
    kinds: frozenset[str]
    pronoun: str

    @property
    def is_about_title(self) -> bool:
        """Whether the title names what the text is about, as its first sentence shows."""
        return bool(self.texts and self.title and not self.title.isdisjoint(terms(self.texts[0])))

    def names_title(self, text: str, within: int | None = None) -> bool:
        """Whether one of a text's first `within` terms is one of the title's."""
        return not self.title.isdisjoint(terms(text)[:within])

    def agrees(self, pronoun: str) -> bool:
        """Whether a pronoun can stand for what the passage is about."""
        return pronoun == self.pronoun


def discourse(text: str, units: Sequence[Unit], title: str = "") -> Discourse:
    """Read how a passage's sentences open.

    Args:
        text: The passage's text.
        units: Its units.
        title: The title that stands above it; empty if none does.
    """
    read = opening_in(guess_language(text))
    places = tuple(n for n, unit in enumerate(units) if unit.kind in _RUNNING)
    texts = tuple(text[units[n].start : units[n].end] for n in places)
    openings = tuple(map(read, texts))
    listed = [units[n].kind == "list_item" for n in places]
    before = tuple(accumulate(range(len(places) - 1), partial(_last, listed), initial=-1))
    named = frozenset(terms(_BRACKETED.sub("", title)))
    named = named - _FUNCTION_WORDS or named
    leads = bool(texts) and not named.isdisjoint(terms(texts[0]))
    counts = Counter(opening.personal for opening in openings if opening.personal)
    return Discourse(
        places,
        texts,
        tuple(map(_as_listed, openings, listed)),
        before,
        named,
        _remembered_kinds(texts[0]) if leads else frozenset(),
        max(counts, key=lambda word: counts[word], default=""),
    )


def _last(listed: Sequence[bool], before: int, place: int) -> int:
    """The last sentence up to a place, or that place while there was none."""
    return before if before >= 0 and listed[place] and not listed[before] else place


def _as_listed(opening: Opening, listed: bool) -> Opening:
    """A lower-case word goes on with a sentence, but not at the head of a list item."""
    return replace(opening, continues=False) if opening.continues and listed else opening


def _kinds(lead: str) -> frozenset[str]:
    found = _PREDICATE.search(_BRACKETED.sub("", lead))
    return frozenset(terms(found["kind"])) if found else frozenset()


_remembered_kinds = remembering(_kinds)
