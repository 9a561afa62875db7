"""What a question asks for, as far as its words tell, and whether a text holds such a thing.

The expected answer type of question answering (Li and Roth, "Learning Question Classifiers", 2002),
in its coarsest classes: a number, a time, a name. English words alone; of another language nothing
is told.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|tall|big|large|high|deep|fast|often|heavy)\b"
    r"|\bwhat (?:percentage|percent|number|amount|share|proportion|population|fraction)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|decade|century)\b", re.IGNORECASE
)
_NAME = re.compile(r"\b(?:who|whom|whose|where)\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|half)\b")
_DATE = re.compile(
    r"\b(?:1\d|20)\d\d|\b(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December|century)\b"
)
_CAPITAL = re.compile(r"(?<=[\w,;:)’'\"”] )[\"“(]?[A-Z][\w’'-]+")


def asks_for(query: str) -> str:
    """What it asks for: number, time, name; or "" where the words do not tell."""
    for kind, pattern in (("number", _NUMBER), ("time", _TIME), ("name", _NAME)):
        if pattern.search(query):
            return kind
    return ""


def holds(text: str, kind: str, query: str) -> bool:
    """Whether a text holds a thing of that kind; a name that is in the query is none."""
    if kind == "name":
        known = query.casefold()
        return any(m.group().strip('"“(').casefold() not in known for m in _CAPITAL.finditer(text))
    return (_DATE if kind == "time" else _DIGIT).search(text) is not None
