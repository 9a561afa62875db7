"""A text's structure, from the top: which lines are code, table, list, heading or running text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .code import code_drafts, code_end, fence_drafts, fence_end, signature_end
from .lines import is_rule
from .paragraphs import (
    heading_end,
    item_drafts,
    item_end,
    paragraph_drafts,
    paragraph_end,
)
from .source import Draft
from .tables import table_drafts, table_end

if TYPE_CHECKING:
    from .source import Source


def draft_units(source: Source) -> list[Draft]:
    """Cut `source` into units, none of them yet bounded in length.

    Args:
        source: A text with at least one visible character.

    Returns:
        At least one draft, sorted by start. The first stands at the first visible line.
    """
    drafts: list[Draft] = []
    number, item = 0, -1  # `item`: indentation of the list item we are in, or -1
    while number < len(source.lines):
        indent = source.lines[number].indent
        found, number = _next_block(source, number, in_list=item >= 0)
        drafts += found
        if found and found[0].kind == "list_item":
            item = indent
        elif indent <= item:
            item = -1
    return drafts or [Draft(source.lines[0].start)]


def _next_block(source: Source, first: int, *, in_list: bool) -> tuple[list[Draft], int]:
    """The drafts of the block at line `first`, and the line behind it."""
    start = source.lines[first].start
    if (stop := fence_end(source, first)) > first:
        return fence_drafts(source, first, stop), stop
    if (stop := table_end(source, first)) > first:
        return table_drafts(source, first, stop), stop
    if is_rule(source.shown(first)):  # trails what is above
        return [], first + 1
    if (stop := signature_end(source, first)) > first:
        return [Draft(start, "code")], stop
    if (stop := code_end(source, first, in_list=in_list)) > first:
        return code_drafts(source, first, stop), stop
    if (stop := heading_end(source, first, in_list=in_list)) > first:
        return [Draft(start, "heading")], stop
    if (stop := item_end(source, first, in_list=in_list)) > first:
        return item_drafts(source, first, stop), stop
    stop = paragraph_end(source, first)
    return paragraph_drafts(source, first, stop), stop
