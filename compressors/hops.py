"""The second hop: a question read again together with the best evidence so far.

A question of two hops names only where to begin; what it leads to shares its words, and its
meaning, with the unit that answers the first half. The blocks are the same, so that another
reading costs the rows of its query alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .base import Candidates

MAX_EVIDENCE_CHARS = 400
"""Of each unit: more would fill the query with what may be beside the point."""


def second_query(candidates: Candidates, units: Iterable[int]) -> str:
    """The question, and below it each of these units behind the title of its passage."""
    lines = [candidates.query]
    for unit in units:
        title = candidates.passages[candidates.owners[unit]].title
        text = " ".join(candidates.texts[unit].split())[:MAX_EVIDENCE_CHARS]
        lines.append(f"{title}: {text}" if title else text)
    return "\n".join(lines)
