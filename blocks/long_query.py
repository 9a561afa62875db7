"""A query that is too long to be read: its beginning and its end are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .head import ReadingPrompt

MAX_TOKEN_CHARS = 16
"""Characters of a token, at most, where a query is cut: no more of a huge one is looked at."""

CUT = " … "
"""Stands in a query for what was cut out of it."""


def fitting(prompt: ReadingPrompt, query: str, answer_prefix: str, room: int) -> str:
    """The query; if its rows would be more than `room`, its beginning and its end.

    Questions stand before or behind what is pasted in with them, so each gets half of the room.
    """
    if len(query) <= room * MAX_TOKEN_CHARS and len(prompt.query(query, answer_prefix)) <= room:
        return query
    reach = room * MAX_TOKEN_CHARS
    start, end = query[:reach], query[-reach:]
    head, tail = prompt.tokenizer.encode_text(start), prompt.tokenizer.encode_text(end)
    keep = room - len(prompt.query("", answer_prefix)) - len(CUT)
    while keep > 1:
        last = head.ends[min(keep // 2, len(head)) - 1]
        first = tail.starts[max(len(tail) - keep // 2, 0)]
        short = start[:last] + CUT + end[first:]
        over = len(prompt.query(short, answer_prefix)) - room
        if over <= 0:
            return short
        keep -= over + 1  # joined anew, the same text may take a few tokens more
    return query  # a prefix that fills the window leaves no room: reading it says so
