"""How the answer to a question would start, by rules: "When was X born?" -> "X was born in".

AttentionRAG (https://arxiv.org/abs/2503.10720) asks a large model for it. These rules ask nobody,
know English alone, and give `FALLBACK` for whatever else comes: yes/no questions, statements, other
languages, sentences they cannot cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FALLBACK = "The answer is"

MAX_CHARS = 300
"""Longer questions are not said again in their answer: a proxy's window holds them once."""

_BE = "is|are|was|were"
_AUX = rf"{_BE}|do|does|did|has|have|had|can|could|will|would|should|may|might|must"
_ENDS_NOUN = rf"{_AUX}|who|whose|that|which"
_IRREGULAR = {
    "wrote": "written",
    "sang": "sung",
    "drew": "drawn",
    "beat": "beaten",
    "made": "made",
    "built": "built",
    "won": "won",
    "led": "led",
    "shot": "shot",
    "taught": "taught",
}
_PARTICIPLES = frozenset(_IRREGULAR.values()) | {"born", "held", "found", "buried", "set", "fought"}
_NOUN_PHRASE = re.compile(r"(?:the|a|an|his|her|its|their|this|that)\b|[^a-z\s]", re.UNICODE)
_MAX_NOUN_WORDS = 4


def answer_prefix(question: str) -> str:
    """The start of an answer, without a blank behind it; never empty."""
    asked = re.sub(r"[\s?？]+$", "", question.strip())
    asked = re.sub(r"^(?:in|on|at|from|by|to|of) (?=what|which)", "", asked, flags=re.IGNORECASE)
    word, _, rest = asked.partition(" ")
    rule = _RULES.get(word.lower())
    fits = rest.strip() and "\n" not in rest and len(rest) <= MAX_CHARS
    prefix = rule(rest.strip()) if rule and fits else None
    return prefix[0].upper() + prefix[1:] if prefix else FALLBACK


def _who(rest: str) -> str | None:
    verb, _, after = rest.partition(" ")
    if re.fullmatch(_BE, verb):
        passive = re.fullmatch(r"(?P<what>.+) (?P<done>\w+) by", after)
        if passive and _is_participle(passive["done"]):
            return f"{passive['what']} {verb} {passive['done']} by"
        if _NOUN_PHRASE.match(after):
            return f"{after} {verb}"
    done = _IRREGULAR.get(verb, verb)
    if _is_participle(done) and _NOUN_PHRASE.match(after):
        return f"{after} was {done} by"
    return f"The person who {rest.split(',')[0]} is"  # ", A or B" names the choice


def _when_or_where(thing: str) -> Callable[[str], str | None]:
    def rule(rest: str) -> str | None:
        verb, _, after = rest.partition(" ")
        if not re.fullmatch(_BE, verb) or not after:
            return f"The {thing} is"
        subject, _, done = after.rpartition(" ")
        if subject and _is_participle(done):
            return f"{subject} {verb} {done} in"
        return f"{after} {verb} in"

    return rule


def _what(rest: str) -> str | None:
    verb, _, after = rest.partition(" ")
    if re.fullmatch(_BE, verb):
        return f"{after} {verb}" if _NOUN_PHRASE.match(after) else None
    noun = _noun(rest)
    return f"The {noun} is" if noun else None


def _how(rest: str) -> str | None:
    word, _, after = rest.partition(" ")
    noun = _noun(after) if word == "many" else None
    return f"The number of {noun} is" if noun else None


def _noun(rest: str) -> str | None:
    """The words before the verb; None where no verb is known as one near by."""
    words = rest.split()
    for n, word in enumerate(words[1 : _MAX_NOUN_WORDS + 1], start=1):
        ends = re.fullmatch(_ENDS_NOUN, word) or _is_participle(word) or word in _IRREGULAR
        if ends and not words[n - 1].isdigit():  # "Which 2009 animated film"
            return " ".join(words[:n])
    return None


def _is_participle(word: str) -> bool:
    return word in _PARTICIPLES or bool(re.fullmatch(r"[a-z]{2,}ed", word))


_RULES: dict[str, Callable[[str], str | None]] = {
    "who": _who,
    "when": _when_or_where("date"),
    "where": _when_or_where("place"),
    "what": _what,
    "which": _what,
    "how": _how,
    "why": lambda _: "The reason is",
}
