"""Units that say the same in several passages: one of them is enough.

Near-duplicates by the Jaccard similarity of their terms, found by prefix filtering (Chaudhuri et
al., "A Primitive Operator for Similarity Joins in Data Cleaning", 2006): two sets that are alike
share one of their few rarest terms. Other numbers, negations or names make another statement,
however alike the rest is. So does another title: "Its county seat is Carrollton." says one thing of
each county; and where there are no titles, what opens with a pronoun is nobody's twin.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from math import floor
from typing import TYPE_CHECKING

from foveate.blocks.conversation import opens_leaning
from foveate.blocks.memo import remembering

from .lexical import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .base import Candidates

LIKENESS = 0.9
LEAST_TERMS = 5
"""Shorter units are alike by chance, and cost little."""

NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot)\b|n['’]t\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_Claims = tuple[tuple[str, ...], tuple[str, ...], int]
_NAME = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z]\w*")


def twins(candidates: Candidates) -> dict[int, int]:
    """For each sentence that another passage says as well, the number of the first that says it."""
    leaders: dict[int, list[int]] = {}
    for unit, leader in _pairs(candidates):
        leaders.setdefault(leader, [leader]).append(unit)
    return {
        unit: leader
        for leader, group in leaders.items()
        if len({int(candidates.owners[u]) for u in group}) > 1
        for unit in group
    }


def _pairs(candidates: Candidates) -> Iterator[tuple[int, int]]:
    """(unit, the first unit that it repeats)."""
    words = {
        i: _term_set(text)
        for i, (text, unit) in enumerate(zip(candidates.texts, candidates.units, strict=True))
        if unit.kind == "sentence"
    }
    common = Counter(chain.from_iterable(words.values()))
    single = frozenset(term for term, count in common.items() if count == 1)
    known: dict[tuple[str, _Claims, str], list[int]] = {}
    for unit, own in words.items():
        if len(own) < LEAST_TERMS:
            continue
        # A term that stands nowhere else leads to no other unit; most units hold enough of them.
        size = _prefix_size(own)
        if len(own & single) >= size:
            continue
        shared = [term for term in _rarest(own, common, size) if common[term] > 1]
        title = candidates.passages[candidates.owners[unit]].title.strip().casefold()
        text = candidates.texts[unit]
        if not title and opens_leaning(text):
            continue
        claims = _remembered_claims(text)
        rare = [(title, claims, term) for term in shared]
        near = sorted({other for key in rare for other in known.get(key, ())})
        leader = next((other for other in near if _alike(own, words[other])), None)
        if leader is not None:
            yield unit, leader
            continue
        for key in rare:
            known.setdefault(key, []).append(unit)


def _prefix_size(own: frozenset[str]) -> int:
    """Of how many of the rarest terms every set as like as `LIKENESS` must share one."""
    return len(own) - floor(LIKENESS * len(own) + 0.999999) + 1


def _rarest(own: frozenset[str], common: Mapping[str, int], size: int) -> list[str]:
    return sorted(own, key=lambda term: (common[term], term))[:size]


def _alike(a: frozenset[str], b: frozenset[str]) -> bool:
    return len(a & b) >= LIKENESS * len(a | b)


def _claims(text: str) -> _Claims:
    """What must be equal: numbers, names and their order, and how often it is denied.

    The first word counts as a name: its capital does not tell.
    """
    return (
        tuple(_NUMBER.findall(text)),
        (*text.casefold().split()[:1], *_NAME.findall(text)),
        len(NEGATION.findall(text)),
    )


_remembered_claims = remembering(_claims)
_term_set = remembering(lambda text: frozenset(terms(text)))
