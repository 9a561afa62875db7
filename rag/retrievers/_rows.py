"""Passages on their way into the store: checked, and given what they lack."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage

from ._seal import digest, row_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Row:
    """A passage as it is stored: id, document, title, text, metadata as JSON, digest."""

    id: str
    document: str
    title: str
    text: str
    metadata: str
    digest: bytes

    @property
    def fields(self) -> tuple[str, str, str, str, str]:
        """The texts that are stored and digested."""
        return self.id, self.document, self.title, self.text, self.metadata

    @property
    def for_embedding(self) -> str:
        """Title and text: a passage often leaves unsaid what its title says."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def to_rows(passages: Iterable[Passage]) -> Iterator[Row]:
    """Check passages one by one.

    Yields:
        A row for each; a passage without an id is named by a digest of its title and text.

    Raises:
        InputError: One of them cannot be stored, or two have the same id.
    """
    if isinstance(passages, str | Passage):
        raise InputError(f"passages is one {type(passages).__name__}; put it in a list")
    seen: dict[str, bytes] = {}
    for number, passage in enumerate(passages, start=1):
        row = _to_row(passage, number)
        if seen.setdefault(row.id, row.digest) != row.digest:
            raise InputError(f"two passages have the id {row.id!r}, but differ; ids must be unique")
        yield row


def _to_row(passage: Passage, number: int) -> Row:
    if not isinstance(passage, Passage):
        raise InputError(f"passage {number} is {type(passage).__name__}; give a foveate.Passage")
    name = f"passage {number} ({passage.id!r})"
    if not all(isinstance(field, str) for field in (passage.id, passage.title, passage.text)):
        raise InputError(f"{name} has an id, a title or a text that is no str; convert it")
    if not passage.text.strip():
        raise InputError(f"{name} has no text; leave it out")
    try:
        document = passage.metadata.get("document", "")
        fields = (
            passage.id or digest([passage.title.encode(), passage.text.encode()]).hex(),
            document if isinstance(document, str) else "",
            passage.title,
            passage.text,
            json.dumps(dict(passage.metadata), ensure_ascii=False, allow_nan=False),
        )
        return Row(*fields, row_digest(fields))
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} holds a lone surrogate ({error.object[error.start]!r}), which UTF-8 cannot; "
            "remove it"
        ) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{name} has metadata that JSON cannot hold: {error}") from error
