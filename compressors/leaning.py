"""How a sentence opens: with a name, or with words that speak of what was said before it.

What opens a sentence is mostly its subject, and what a text goes on to speak of: the rank of
grammatical roles in centering theory (Grosz, Joshi and Weinstein, "Centering: A Framework for
Modeling the Local Coherence of Discourse", Computational Linguistics 21(2), 1995, section 4). So
only the opening is looked at, behind a connective ("However,") and behind words that only say when
or where ("In June 2012,"). There is no parser: a pronoun further on leans unseen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from foveate.blocks.memo import remembering

from ._leaning_words import COMMON, DEFINING, PAST, PLACING, STOPS, WORDS
from .lexical import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._leaning_words import Words

_MARKS = " \t\n\"'“”‘’„«»([{*_…-–—•,，、"
_WORD = re.compile(r"\w+(?:-\w+)*")
_HAN_PRONOUN = re.compile("其|[它他她][们們]?")
_FRAGMENT = re.compile(r"[^\W\d_A-Z]+[ ,]")
"""A lower-case word: the sentence began in the unit before."""

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_PLACED = r"in|on|at|during|since|until|from|by|throughout|around|as of|under|for|over|of"
_ADJUNCT = re.compile(
    rf"(?:(?:{_PLACED}|\w+(?:ed|ing)|born|best known|known|built|set|held)\b[^,;:.]{{1,100}},"
    rf"|(?:in|by|since|on)\s(?:\w+\s)?(?:(?:{_MONTHS})\s)?(?:\d\d?,?\s)?\d{{4}}"
    r"|(?:\w+ly|later|today|then|now|soon|once|afterwards?|often|sometimes|meanwhile|there),?)\s+",
    re.IGNORECASE,
)
"""When, where or how: what it names is hardly ever the subject."""

_CLAUSE = re.compile(
    rf"(?:(?i:{_PLACED}|as|after|before|when|while|although|though|if|because|despite|due to|prior"
    rf"|with|without|unlike|like|to))\b(?:[^;:.A-Z]|{_MONTHS}){{1,100}}?\s(?=(?:it|he|she|they)\b)"
)
"""A clause that names nobody, so that the pronoun behind it speaks of somebody before."""

_POINTING_ADJUNCT = re.compile(
    r"(?:after|before|prior to|since|because of|despite|due to|following|during|in|at|on|by|for|to"
    r"|with|unlike)\s(?=(?:this|that|these|those)\b)",
    re.IGNORECASE,
)

_MOST_NOUN_WORDS = 3

_DEFINITE = re.compile(r"\b(?i:the|this|that|these|those)\s+(?:[^\W\d_A-Z]+\s+)?\w+")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a sentence leans on by its first words.

    Attributes:
        personal: The pronoun that its subject, or whoever owns that, agrees with; or "".
        points: Whether it points at what was said right before: "This shows", "However,".
        continues: Whether it is the rest of the sentence before it.
        nouns: Terms of a noun that it takes as known ("the film", "this old film"), nearest to the
            article first.
        near: Whether that noun stands behind a demonstrative: where nothing introduced it, it sums
            up what was said right before ("This idea").
    """

    personal: str = ""
    points: bool = False
    continues: bool = False
    nouns: tuple[str, ...] = ()
    near: bool = False

    @property
    def leans(self) -> bool:
        """Whether it leans at all."""
        return bool(self.personal or self.points or self.continues or self.nouns)


@cache
def opening_in(language: str) -> Callable[[str], Opening]:
    """What reads openings in a language (ISO 639-1), remembering what it read."""
    words = WORDS.get(language)
    if words is None:
        return lambda text: Opening()
    return remembering(lambda text: _read(text, words))


def introduced(text: str) -> frozenset[str]:
    """The terms of a text, but for those that it takes as known itself ("the old bridge")."""
    return _remembered_introduced(text)


_remembered_introduced = remembering(lambda text: frozenset(terms(_DEFINITE.sub(" ", text))))


def _read(text: str, words: Words) -> Opening:
    start = _behind_marks(text, 0)
    if words.article and text[start : start + 1].islower() and _FRAGMENT.match(text, start):
        return Opening(continues=True)
    linking = words.linking.match(text, start)
    at = _behind_marks(text, linking.end()) if linking else start
    found = _read_at(text, at, words)
    if not found.leans and words.article:
        behind = (_read_at(text, end, words) for end in _behind_adjuncts(text, at))
        found = next((opening for opening in behind if opening.leans), found)
    return replace(found, points=found.points or linking is not None)


def _behind_adjuncts(text: str, at: int) -> Iterator[int]:
    for pattern in (_POINTING_ADJUNCT, _CLAUSE, _ADJUNCT):
        if adjunct := pattern.match(text, at):
            yield adjunct.end()


def _read_at(text: str, at: int, words: Words) -> Opening:
    """What the clause leans on that begins at a character."""
    if words.idle and words.idle.match(text, at):
        return Opening()
    if personal := words.personal.get(_first(text, at)):
        return Opening(personal)
    if pointing := words.pointing.match(text, at):
        nouns = tuple(_nouns(text, pointing.end(), named=True)) if words.article else ()
        return Opening(points=not nouns, nouns=nouns, near=bool(nouns))
    if words.article and (article := words.article.match(text, at)):
        return Opening(nouns=tuple(_nouns(text, article.end())))
    return Opening()


def _behind_marks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _MARKS:
        at += 1
    return at


def _first(text: str, at: int) -> str:
    match = _HAN_PRONOUN.match(text, at) or _WORD.match(text, at)
    return match.group().casefold() if match else ""


def _nouns(text: str, at: int, *, named: bool = False) -> Iterator[str]:
    """Terms of the plain words behind an article, unless the sentence itself says which is meant.

    Where the noun ends and the verb begins is not known; the first of the terms that is found
    elsewhere counts. Behind "this" a word with a capital names a kind as well: "this Congress".
    """
    run: list[str] = []
    end = at
    for match in _WORD.finditer(text, at):
        word = match.group()
        if word in DEFINING or (word in PLACING and not _ends_as_verb(run)):
            return
        plain = word[0].islower() or (named and not run and word[0].isalpha())
        apart = text[end : match.start()] != " "
        if apart or not plain or word in STOPS | PLACING or len(run) == _MOST_NOUN_WORDS:
            break
        run.append(word)
        end = match.end()
    yield from (term for word in run if word not in COMMON for term in terms(word))


def _ends_as_verb(run: Sequence[str]) -> bool:
    return len(run) > 1 and (run[-1].endswith(("s", "ed")) or run[-1] in PAST)
