"""Sentences of running text: sentencex, its input made safe, its output put right."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import sentencex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# sentencex takes quadratic time on runs of quotation marks, so it sees this much at once.
_WINDOW_CHARS = 1_500
# It miscounts bytes behind white space wider than one byte ("U.S.\u2028." makes it panic).
_WIDE_SPACE = re.compile(r"[^\S \n]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Without any of these there is nothing to find.
_MAY_END = re.compile("[.!?)\u0370-\u1fff\u203c-\U0010ffff]")

# No longer piece than this is joined to its neighbour for saying nothing on its own.
CRUMB_CHARS = 24
_OPENERS, _MOST_OPENERS = "\"'“‘«„‚([{「『（【《¿¡", 4
# "1." or "b)" at the end of a sentence belongs to the one after it.
_ENUMERATOR = re.compile(r"(?:(?<=\s)|^)[•⁃*(-]?(?P<value>\d{1,3}|[a-zA-Z])(?:\.\)|[.)])\s*")
_ENUMERATOR_AT_END = re.compile(_ENUMERATOR.pattern + "$")
_FIRST_VALUES = frozenset(("1", "a", "A"))
_FINAL = frozenset(".!?:;")
_ENUMERATOR_CHARS = 12
# A quotation or parenthesis this long may be cut between its sentences.
_LONG_QUOTATION_CHARS = 300
# sentencex takes a digit or a Latin letter behind a full stop for the same sentence going on.
_HAN_FINAL = re.compile(r"[。！？](?=[0-9A-Za-z])")
_QUOTES = re.compile('["“”„‟«»‹›()]')
_WORD_CHARS = 100
# Addresses, and names such as `json.decoder.JSONDecoder`.
_ONE_WORD = re.compile(
    r"\S*?(?:://|www\.|\.(?i:com|org|net|edu|gov|io|html?|php|pdf)\b)"
    r"|\W*(?:[a-z_]\w*\.){2,}\w|\W*[a-z_]\w*\.[A-Z]\w*[a-z]\w*[A-Z(]"
)
_TITLES = frozenset(
    ["dr", "mr", "mrs", "ms", "prof", "st", "sr", "rev", "gen", "capt", "vs", "fig", "figs", "eq"]
)
_STEP = re.compile(r"[A-Z][a-z]{1,11} \d{1,3}[.:)]\s*")
_TITLE = re.compile(r"[(\[\"'“‘]*([a-zA-Z.]{1,6})\.\s*$")


def sentence_starts(text: str, start: int, end: int, *, language: str) -> list[int]:
    """Where the sentences of `text[start:end]` begin, `start` first.

    Args:
        text: The whole text.
        start: First character, visible.
        end: One past the last character. No empty line lies between.
        language: An ISO 639 code; an unknown one is read like English.

    Returns:
        Rising offsets, each of a visible character.
    """
    if not _MAY_END.search(text, start, end):
        return [start]
    found = list(_boundaries(text, start, end, language, _plain))
    found = sorted({*found, *(mark.end() for mark in _HAN_FINAL.finditer(text, start, end))})
    found = list(_open_quotations(text, [start, *found, end], language))
    return _join_closers(text, [start, *_settle(text, start, found), end])


def _boundaries(
    text: str, start: int, end: int, language: str, mask: Callable[[str], str]
) -> Iterator[int]:
    """Every place where sentencex begins another sentence, window by window."""
    while start < end:
        stop = min(start + _WINDOW_CHARS, end)
        found = _first_characters(mask(text[start:stop]), start, language)
        yield from found
        if stop == end:
            return
        # The last sentence of a window may go on behind it: read it again from its start.
        start = found[-1] if found else stop


def _first_characters(window: str, offset: int, language: str) -> list[int]:
    if not _MAY_END.search(window):
        return []
    found = []
    for sentence in _ask_sentencex(language, window)[1:]:
        shown: str = sentence["text"].lstrip()
        if shown:
            found.append(offset + sentence["end_index"] - len(shown))
    return found


def _ask_sentencex(language: str, window: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = sentencex.get_sentence_boundaries(language, window)
    except BaseException as error:  # a panic of the Rust code is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return []  # one long sentence, which is then cut at clause marks
    return found


def _plain(window: str) -> str:
    return _WIDE_SPACE.sub(" ", _SURROGATE.sub("\ufffd", window))


def _without_quotes(window: str) -> str:
    return _QUOTES.sub(" ", _plain(window))


def _open_quotations(text: str, bounds: list[int], language: str) -> Iterator[int]:
    """Sentences inside long quotations and parentheses, which sentencex keeps whole."""
    for first, stop in pairwise(bounds):
        if stop - first > _LONG_QUOTATION_CHARS and _QUOTES.search(text, first, stop):
            yield from _boundaries(text, first, stop, language, _without_quotes)
        if stop != bounds[-1]:
            yield stop


def _settle(text: str, start: int, found: list[int]) -> Iterator[int]:
    """Drop false boundaries; move those that stand behind the mark that opens a sentence."""
    previous = start
    for cut in found:
        moved = _before_enumerator(text, previous, _before_openers(text, previous, cut))
        crumb = moved - previous <= CRUMB_CHARS and is_crumb(text[previous:moved])
        if moved > previous and not (crumb or _goes_on(text, moved)):
            previous = moved
            yield moved


def _before_openers(text: str, previous: int, cut: int) -> int:
    first = cut
    while first > max(previous, cut - _MOST_OPENERS) and text[first - 1] in _OPENERS:
        first -= 1
    return first if first == previous or text[first - 1].isspace() else cut


def _before_enumerator(text: str, previous: int, cut: int) -> int:
    """`cut`, or the start of a list mark that ends right before it: "1. One 2. | Two"."""
    mark = _ENUMERATOR_AT_END.search(text, max(previous, cut - _ENUMERATOR_CHARS), cut)
    if not mark or mark.start() <= previous:
        return cut
    before = _ENUMERATOR.match(text, previous)
    if before and _follows(before["value"], mark["value"]):
        return mark.start()
    ends = text[max(previous, mark.start() - _ENUMERATOR_CHARS) : mark.start()].rstrip()[-1:]
    return mark.start() if mark["value"] in _FIRST_VALUES and ends in _FINAL else cut


def _follows(before: str, value: str) -> bool:
    """Whether a list counts from `before` to `value`."""
    if before.isdecimal() and value.isdecimal():
        return int(value) == int(before) + 1
    return len(before) == len(value) == 1 and ord(value) == ord(before) + 1


def _goes_on(text: str, cut: int) -> bool:
    """Whether the sentence plainly runs across `cut`: "alas! either", "www.example.|Org"."""
    if "a" <= text[cut] <= "z":
        return text[max(cut - 2, 0) : cut].rstrip().endswith("!")
    if text[cut - 1] not in ".?!":
        return False
    if text[cut - 1] == "!" and text[cut] == "[":  # an image in Markdown
        return True
    word = text[max(cut - _WORD_CHARS, 0) : cut].rsplit(maxsplit=1)[-1]
    return bool(_ONE_WORD.match(word + text[cut : cut + _WORD_CHARS]))


def _join_closers(text: str, bounds: list[int]) -> list[int]:
    """`bounds` without its last; a lone closing mark joined to what it closes."""
    starts = bounds[:1]
    for first, stop in pairwise(bounds[1:]):
        if any(map(str.isalnum, text[first:stop])):
            starts.append(first)
    return starts


def is_crumb(piece: str) -> bool:
    """Whether `piece` is "2.", "Dr.", "Step 1:" or a few signs, which need the next words."""
    if len(piece) > CRUMB_CHARS:
        return False
    if _ENUMERATOR.fullmatch(piece) or _STEP.fullmatch(piece):
        return True
    title = _TITLE.match(piece)
    return bool(title and title[1].lower() in _TITLES) or not any(map(str.isalnum, piece))
