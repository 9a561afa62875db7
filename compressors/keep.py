"""What a caller wants to see again whatever the question: numbers, dates, code, or any pattern.

A unit is the smallest thing that stays, so that a match keeps the unit or units that hold it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foveate.blocks.candidates import Candidates

Keep = str | re.Pattern[str]

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
KINDS: dict[str, re.Pattern[str]] = {
    "numbers": re.compile(r"\d"),
    "dates": re.compile(
        r"\b\d{4}-\d{1,2}(?:-\d{1,2})?\b"
        r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
        rf"|\b\d{{1,2}}\.?\s+{_MONTH}\s+\d{{4}}\b"
        rf"|\b{_MONTH}\s+\d{{1,2}}(?:,\s*\d{{4}})?\b"
        rf"|\b{_MONTH}\s+\d{{4}}\b"
        r"|(?<![A-Za-z]-)\b(?:1[5-9]|20)\d{2}\b"
        r"|\d{1,4}\s*[年月日]",
        re.IGNORECASE,
    ),
    "urls": re.compile(r"\b(?:https?|ftp)://\S+|\bwww\.\S+\.\S+", re.IGNORECASE),
    "emails": re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"),
    "quotes": re.compile(r"“[^”]+”|«[^»]+»|„[^“”]+[“”]|「[^」]+」|\"[^\"\n]+\""),
    "identifiers": re.compile(
        r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b"  # snake_case
        r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b"  # camelCase
        r"|\b(?=[A-Za-z0-9-]*\d)(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\b"  # AB-12
    ),
    "code": re.compile(r"`[^`\n]+`"),
}
"""What can be named; "code" means code blocks as well. Anything else is taken as a pattern."""


def check(keep: object) -> None:
    """Refuse what names nothing that could be kept.

    Raises:
        InputError: It is no list of names, patterns in slashes, or compiled patterns.
        UnknownNameError: A name is none of `KINDS`.
    """
    if isinstance(keep, str | re.Pattern) or not hasattr(keep, "__iter__"):
        raise InputError(f"keep is {keep!r}; give a list, as in keep=['numbers', '/INV-\\d+/']")
    for wanted in keep:
        _pattern(wanted)


def kept_units(candidates: Candidates, keep: Iterable[Keep]) -> dict[int, str]:
    """The units that hold a match, and why each stays: "keep: numbers".

    A match that reaches over several units keeps all of them.

    Raises:
        InputError: See `check`.
    """
    reasons: dict[int, str] = {}
    for wanted in keep:
        name, pattern = _pattern(wanted)
        for unit in _matching(candidates, pattern):
            reasons.setdefault(unit, f"keep: {name}")
        if name == "code":
            code = (i for i, unit in enumerate(candidates.units) if unit.kind == "code")
            reasons.update((i, f"keep: {name}") for i in code if i not in reasons)
    return reasons


def _pattern(wanted: object) -> tuple[str, re.Pattern[str]]:
    if isinstance(wanted, re.Pattern) and isinstance(wanted.pattern, str):
        return f"/{wanted.pattern}/", wanted
    if not isinstance(wanted, str):
        raise InputError(f"keep holds {wanted!r}; give a name, '/a pattern/' or re.compile(...)")
    if len(wanted) > 2 and wanted.startswith("/") and wanted.endswith("/"):
        try:
            return wanted, re.compile(wanted[1:-1])
        except re.error as error:
            raise InputError(f"keep pattern {wanted} is no regular expression: {error}") from error
    if wanted not in KINDS:
        raise UnknownNameError("what to keep", wanted, [*KINDS, "'/a pattern/'"])
    return wanted, KINDS[wanted]


def _matching(candidates: Candidates, pattern: re.Pattern[str]) -> Iterable[int]:
    for index, passage in enumerate(candidates.passages):
        for match in pattern.finditer(passage.text):
            if match.group():
                yield from candidates.units_in(index, *match.span())
