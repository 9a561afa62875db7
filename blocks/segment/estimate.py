"""How many tokens a text costs, guessed from its characters alone.

No tokenizer is at hand when passages are cut, and one caller's differs from the next one's. The
guess leans to a small English-centred byte-pair vocabulary (49k entries, digits apart), slightly on
the high side, so that a unit cut to size here is no larger there. Every cost depends on a character
and on those before it, which makes the cost of any span a difference of two prefix sums.

The weights were fitted by non-negative least squares, under-estimates counting sixfold, on English
prose, abstracts, financial tables, Python, JSON, logs, URLs and 25 other languages.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Code points up to this one have a weight of their own; all beyond share the last.
_TABLE_SIZE = 0x20000
_LOWER, _UPPER, _DIGIT, _SPACE, _BREAK, _MARK, _WIDE = range(1, 8)

# (first, past the last, tokens a character); whatever no range covers costs `_UNKNOWN`.
_UNKNOWN = 3.0
_WEIGHTS = (
    (0x00, 0x20, 1.3),
    (0x7F, 0xC0, 1.6),  # Latin-1 signs
    (0xC0, 0x250, 2.8),  # accented Latin: ends the word's token, too
    (0x250, 0x370, 2.0),
    (0x370, 0x400, 1.02),  # Greek
    (0x400, 0x530, 0.96),  # Cyrillic
    (0x530, 0x590, 2.15),  # Armenian
    (0x590, 0x900, 1.25),  # Hebrew, Arabic
    (0x900, 0x980, 1.55),  # Devanagari
    (0x980, 0xE00, 2.0),  # other scripts of India
    (0xE00, 0xE80, 1.95),  # Thai
    (0xE80, 0x10A0, 3.0),
    (0x10A0, 0x1100, 2.0),  # Georgian
    (0x1E00, 0x1F00, 2.6),
    (0x1F00, 0x2000, 2.0),
    (0x2000, 0x2070, 2.2),  # dashes and curly quotes
    (0x2070, 0x2E80, 2.0),
    (0x3000, 0x3040, 1.3),  # marks of Chinese and Japanese
    (0x3040, 0x3100, 1.9),  # kana
    (0x3400, 0xA000, 2.0),  # Han
    (0xAC00, 0xD7B0, 2.7),  # Hangul
    (0xFF00, 0xFFF0, 2.0),
    (0x1F000, 0x1FB00, 2.8),  # emoji
    (0x1FB00, _TABLE_SIZE, 4.0),
)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of `text` in a small English-centred vocabulary.

    Measured against a vocabulary of 49k, it is 3 to 18 percent high for English, code, tables, JSON
    and logs, and within 10 percent for other scripts. For Latin-script languages other than
    English it can be a fifth low.

    Args:
        text: Any string, lone surrogates included.

    Returns:
        A token count, 0 only for the empty string.
    """
    return ceil(float(_token_costs(_code_points(text)).sum())) if text else 0


@dataclass(frozen=True, slots=True)
class Ruler:
    """Lays a length along a text, so that spans can be measured and cut in constant time.

    The length is the token estimate.

    Attributes:
        prefix: Length of `text[:i]`, for each i up to the length of the text.
    """

    prefix: list[float]

    @classmethod
    def of(cls, text: str) -> Ruler:
        """Measure `text` once."""
        codes = _code_points(text)
        lengths = np.cumsum(_token_costs(codes), dtype=np.float64)
        return cls([0.0, *lengths.tolist()])

    def size(self, start: int, end: int) -> float:
        """Length of `text[start:end]`."""
        return self.prefix[end] - self.prefix[start]

    def reach(self, start: int, length: float) -> int:
        """The furthest `end` with `size(start, end) <= length`."""
        return bisect_right(self.prefix, self.prefix[start] + length, lo=start) - 1


def _code_points(text: str) -> NDArray[np.uint32]:
    codes: NDArray[np.uint32]
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return codes.clip(max=_TABLE_SIZE - 1)


def _token_costs(codes: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Tokens per character, shape `(len(codes),)`."""
    kinds = _KINDS[codes]
    costs = _COSTS[codes]
    same = np.zeros(len(codes), dtype=bool)
    same[1:] = codes[1:] == codes[:-1]
    _add_words(costs, kinds)
    mark = kinds == _MARK
    costs += 1.2 * (mark & ~_shift(mark)) + 0.22 * (mark & _shift(mark) & ~same)
    costs += np.where(_IS_RULE[codes], 0.06, 0.25) * (mark & same)
    space, line = kinds == _SPACE, kinds == _BREAK
    blank = space | line
    costs += (kinds == _DIGIT) & _shift(space)  # digits never swallow the space before them
    costs += 0.05 * (space & _shift(blank)) + 0.8 * (line & _shift(blank) & ~same)
    costs -= 0.45 * (line & same)
    return costs


def _add_words(costs: NDArray[np.float32], kinds: NDArray[np.uint8]) -> None:
    """A Latin word costs one token, and more when it is long, in capitals or in camelCase."""
    lower, upper = kinds == _LOWER, kinds == _UPPER
    word = lower | upper | (kinds == _WIDE)
    after = _shift(word)
    in_long = word & after & _shift(after) & _shift(after, 2) & _shift(after, 3)
    in_very_long = in_long & _shift(in_long, 4)
    costs += 1.0 * ((lower | upper) & ~after)
    costs += 0.07 * (lower & in_long) + 0.33 * (lower & in_very_long)
    costs += 0.3 * (upper & _shift(upper)) + 1.45 * (upper & _shift(lower))
    costs += 1.2 * (lower & _shift(upper) & _shift(upper, 2))


def _shift(mask: NDArray[np.bool_], places: int = 1) -> NDArray[np.bool_]:
    """`mask` as seen from `places` characters later."""
    shifted = np.zeros_like(mask)
    shifted[places:] = mask[: max(len(mask) - places, 0)]
    return shifted


def _kind_table() -> NDArray[np.uint8]:
    table = np.zeros(_TABLE_SIZE, dtype=np.uint8)
    table[0x21:0x7F] = _MARK
    table[ord("a") : ord("z") + 1] = _LOWER
    table[ord("A") : ord("Z") + 1] = _UPPER
    table[ord("0") : ord("9") + 1] = _DIGIT
    table[ord(" ")] = _SPACE
    table[[ord("\t"), ord("\n"), ord("\r"), 0x0B, 0x0C]] = _BREAK
    table[0xC0:0x250] = table[0x1E00:0x1F00] = _WIDE
    return table


def _cost_table() -> NDArray[np.float32]:
    table = np.full(_TABLE_SIZE, _UNKNOWN, dtype=np.float32)
    table[:0x7F] = 0.0
    for first, stop, weight in _WEIGHTS:
        table[first:stop] = weight
    table[ord("0") : ord("9") + 1] = 1.0
    table[[ord("\t"), ord("\n"), ord("\r"), 0x0B, 0x0C]] = 0.6
    return table


def _rule_table() -> NDArray[np.bool_]:
    """Signs whose long runs are a token of their own."""
    table = np.zeros(_TABLE_SIZE, dtype=bool)
    table[[ord(sign) for sign in "-=_*#~."]] = True
    return table


_KINDS = _kind_table()
_COSTS = _cost_table()
_IS_RULE = _rule_table()
