"""A stream of text, cut into windows at places that its pieces have no bearing on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foveate.blocks.errors import InputError
from foveate.blocks.segment import segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PARAGRAPH = "\n\n"


def windows(stream: Iterable[str], size: int) -> Iterator[tuple[int, str]]:
    """(first character, text) of each window; together they are the text, however it came.

    A window ends behind a paragraph of its second half, else behind a unit. No more than a window
    and a piece of the stream is held.

    Args:
        stream: The text in pieces of any length; a str is one.
        size: Most characters of a window.

    Raises:
        InputError: A piece is no str.
    """
    start, held = 0, ""
    for piece in [stream] if isinstance(stream, str) else stream:
        if not isinstance(piece, str):
            raise InputError(
                f"the stream holds {type(piece).__name__}; give pieces of text, as in "
                "open(path, encoding='utf-8')"
            )
        taken = 0
        while taken < len(piece):
            # One character over: only then more is sure to follow, and a cut is due.
            room = size + 1 - len(held)
            held += piece[taken : taken + room]
            taken += room
            if len(held) > size:
                cut = _cut(held[:size])
                yield start, held[:cut]
                start, held = start + cut, held[cut:]
    if held:
        yield start, held


def _cut(text: str) -> int:
    """Where a window ends that begins with this text and has more behind it."""
    paragraph = text.rfind(PARAGRAPH, len(text) // 2)
    if paragraph >= 0:
        return paragraph + len(PARAGRAPH)
    last = segment(text)[-1].start  # it may go on
    return last or len(text)
