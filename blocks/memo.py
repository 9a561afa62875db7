"""Remembering what was found out about short texts: the units of passages that come again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MAX_REMEMBERED_CHARS = 2_000
MAX_REMEMBERED_TEXTS = 16_384


def remembering(
    function: Callable[[str], T], *, texts: int = MAX_REMEMBERED_TEXTS
) -> Callable[[str], T]:
    """The same function, quick for short texts that it saw before.

    Args:
        function: A pure function of a text.
        texts: How many texts are kept with what they gave; longer texts than
            `MAX_REMEMBERED_CHARS` never are, so that the memory of it stays bounded.
    """
    short = lru_cache(maxsize=texts)(function)
    return lambda text: short(text) if len(text) <= MAX_REMEMBERED_CHARS else function(text)
