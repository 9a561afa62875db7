"""Leaving words out of a sentence: whole ones, the least worth first, nothing that carries a fact.

What compressors of tokens lose is known: identifiers cut in half, numbers gone, a "not" left out.
So words are dropped whole, and never those that are numbers, dates, names, identifiers or
negations, stand within quotes or code, or belong to the question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .duplicates import NEGATION
from .keep import KINDS
from .lexical import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from foveate.blocks.passage import Span

MAX_SHARE = 0.35
"""Of a sentence's words, as many may go: with fewer left it no longer reads."""

LEAST_WORDS = 6
"""A shorter sentence has nothing to spare."""

FUNCTION_WEIGHT = 0.2
"""What a function word counts of what was looked at: it is guessed by whoever reads the rest."""

UNSEEN = 0.5
"""A word that carries meaning goes only if it got less than this share of the mean attention."""

_WORD = re.compile(r"\S+")
_PROTECTED = re.compile(r"\d|[^\W\d_]*[A-Z]\w*|[_@/\\=<>{}|$%€£°]|[a-z]\.[a-z]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_SPOKEN = re.compile("[^\\w'’-]+")
_COUNTS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve hundred thousand million
    billion half third quarter first second last only all every each both either most many
    few some any more less least before after until since between within without except
    unless must""".split()  # noqa: SIM905
)
"""Words that bound what is said: how many, how much, when, under which condition."""

_FUNCTION = frozenset(
    """a an the this that these those of in on at by for from to with as into onto over under about
    is are was were be been being has have had do does did will would shall should can could may
    might and or but so then than also very quite rather just still even it its he she they them his
    her their there here which who whom whose where when while if because although though however
    moreover furthermore therefore thus indeed overall generally usually often really""".split()  # noqa: SIM905
)


def shorter(text: str, worth: NDArray[np.floating], query: Collection[str]) -> tuple[Span, ...]:
    """What can be left out of a sentence, as character spans, sorted and disjoint.

    Each takes the blank before its word along, or that behind it at the very start, so that what is
    left reads on without anything put in.

    Args:
        text: The sentence, with the white space behind it.
        worth: What each character is worth, none negative: (characters,).
        query: Terms of the question.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    if len(words) < LEAST_WORDS or _UNSPACED.search(text):
        return ()
    held = list(_held(text))
    free = [
        i
        for i, (start, end) in enumerate(words)
        if i not in (0, len(words) - 1)
        and not any(a < end and start < b for a, b in held)
        and _free(text[start:end], query)
    ]
    values = {i: _value(text, words[i], worth) for i in free}
    least = UNSEEN * float(worth.mean())
    ranked = sorted((i for i in free if values[i] < least), key=lambda i: (values[i], i))
    gone = sorted(ranked[: int(MAX_SHARE * len(words))])
    return tuple((words[i - 1][1], words[i][1]) for i in gone)


def _value(text: str, word: tuple[int, int], worth: NDArray[np.floating]) -> float:
    start, end = word
    mean = float(worth[start:end].mean())
    return mean * FUNCTION_WEIGHT if _spoken(text[start:end]) in _FUNCTION else mean


def _free(word: str, query: Collection[str]) -> bool:
    """Whether a word may go, as far as it tells itself: marks that end a phrase stay too."""
    spoken = _spoken(word)
    return (
        spoken == word.casefold()  # no mark stands with it
        and not _PROTECTED.search(word)
        and not NEGATION.search(word)
        and spoken not in _COUNTS
        and not any(term in query for term in terms(word))
    )


def _spoken(word: str) -> str:
    return _SPOKEN.sub("", word).casefold()


def _held(text: str) -> Iterator[tuple[int, int]]:
    """Spans of which no word may go, and around negations the words that they deny."""
    for kind in ("dates", "urls", "emails", "quotes", "identifiers", "code"):
        yield from (match.span() for match in KINDS[kind].finditer(text))
    for match in NEGATION.finditer(text):
        end = text.find(" ", match.end() + 1)
        yield match.start(), len(text) if end < 0 else end
