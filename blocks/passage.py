"""What goes in: passages, as a retriever returns them, and the units they are cut into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .errors import InputError, NoPassagesError

UnitKind = Literal["sentence", "heading", "list_item", "table_row", "code"]
Span = tuple[int, int]
"""First character and one past the last, in code points."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved text.

    Attributes:
        text: The source text, never altered.
        id: The caller's identifier, echoed in every result. Empty means "number me".
        title: Title of the document it came from; scored and shown with the text.
        metadata: The caller's own data, carried along untouched.
    """

    text: str
    id: str = ""
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest thing that is kept or dropped: `passage.text[start:end]`.

    Attributes:
        start: First character, in Unicode code points.
        end: One past the last character.
        kind: What the span is.
        requires: Indices, within the same passage, of units without which this one cannot be
            understood (the header rows of a table, the opening fence of a code block).
    """

    start: int
    end: int
    kind: UnitKind = "sentence"
    requires: tuple[int, ...] = ()


def as_passages(items: Iterable[Passage | str | Mapping[str, Any]]) -> tuple[Passage, ...]:
    """Take strings, mappings or passages; give passages that all have an id.

    A string or an empty id gets its 1-based place in the list; an id that is given stays. Mappings
    take the keys `text`, `id`, `title` and `metadata`.

    Raises:
        NoPassagesError: `items` is empty.
        InputError: An item is of another type or lacks its text.
    """
    if isinstance(items, str | Mapping | Passage):
        raise InputError(
            f"passages must be a list of passages, got one {type(items).__name__}; put it in a list"
        )
    given = list(items)
    if not given:
        raise NoPassagesError("no passages given; pass at least one passage to read")
    passages = [_as_passage(item, n) for n, item in enumerate(given, start=1)]
    taken = {passage.id for passage in passages}
    return tuple(
        passage if passage.id else replace(passage, id=_free(n, taken))
        for n, passage in enumerate(passages, start=1)
    )


def _as_passage(item: object, number: int) -> Passage:
    match item:
        case Passage() if isinstance(item.text, str):
            return item
        case str():
            return Passage(item)
        case Mapping() if isinstance(item.get("text"), str):
            name = item.get("id")
            return Passage(
                item["text"],
                "" if name is None else str(name),
                str(item.get("title") or ""),
                item.get("metadata") or {},
            )
        case _:
            raise InputError(
                f"passage {number} is {type(item).__name__}; give a str, a foveate.Passage, "
                "or a mapping, its text a str"
            )


def _free(number: int, taken: set[str]) -> str:
    """The number as an id, with a mark behind it if somebody else has that id."""
    name = str(number)
    while name in taken:
        name += "'"
    return name
