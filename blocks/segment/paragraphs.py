"""Running text: headings, list items, paragraphs; and which line breaks inside them count."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from .code import is_fence
from .lines import is_rule
from .sentences import sentence_starts
from .source import Draft
from .tables import is_table_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .source import Source

_ATX = re.compile(r"#{1,6}[ \t]+\S")
_UNDERLINE_SIGNS = frozenset("=-~^\"'*+#`:._")
_MOST_HEADING_CHARS, _MOST_HEADING_WORDS = 80, 12
_FINAL = ".!?:;,…。！？：；，、؟۔।॥։።"
_FINAL_MARK = re.compile(rf"[{_FINAL}][\"'”’»)\]」』）]*(?:\s|$)")

_BULLET = re.compile(r"[-*+•‣⁃◦▪●○·–—][ \t]+(?=\S)")
_ORDERED = re.compile(
    r"\(?(?P<value>\d{1,3}|[a-zA-Z]|[ivxIVX]{2,4})(?P<close>\.\)|[.)])[ \t]+(?=\S)"
)
_FIRST_VALUES = frozenset(("0", "1", "a", "A", "i", "I"))
# A list item up to this long stays whole.
_WHOLE_ITEM_SIZE = 48.0

_RECORD = re.compile(
    r"\W{0,3}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:|\[\w+\]"
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)"
)
_KEY_VALUE = re.compile(r"[^\W_][\w .()/#&-]{0,30}[:=](?:[ \t]|$)")
_RECORD_SHARE, _FEWEST_KEY_VALUES = 0.5, 2
# Nobody wraps lines by hand beyond this many characters; up to it, a line break means something
# only where the next word would have fitted with this share of the width to spare.
_MOST_WRAP_CHARS, _SLACK_SHARE = 140, 0.12
_MOST_VERSE_CHARS, _FEWEST_VERSES = 60, 4


def heading_end(source: Source, first: int, *, in_list: bool) -> int:
    """One past the heading at line `first`, or `first` if there is none."""
    shown, behind = source.shown(first), first + 1
    if _ATX.match(shown):
        return behind
    if behind < len(source.lines) and _underlines(source, behind):
        return behind + 1
    return behind if _is_bare_heading(source, first, in_list=in_list) else first


def item_end(source: Source, first: int, *, in_list: bool) -> int:
    """One past the list item at line `first`, or `first` if there is none."""
    if not _is_item(source, first, in_list=in_list):
        return first
    mark, number = source.lines[first], first + 1
    while number < len(source.lines) and not _interrupts(source, number, in_list=True):
        line = source.lines[number]
        if line.indent < mark.indent or (line.indent == mark.indent and _ends(source, number - 1)):
            break
        number += 1
    return number


def item_drafts(source: Source, first: int, stop: int) -> list[Draft]:
    """A list item: whole if short, else its sentences, which need the first of them.

    Further items on the same line ("1) this 2) that") become items of their own.
    """
    start, end = source.lines[first].start, source.lines[stop - 1].end
    is_long = source.ruler.size(start, end) > _WHOLE_ITEM_SIZE
    drafts = [Draft(start, "list_item")]
    for later in sentence_starts(source.text, start, end, language=source.language)[1:]:
        if _ORDERED.match(source.text, later, end):
            start = later
            drafts.append(Draft(later, "list_item"))
        elif is_long:
            drafts.append(Draft(later, "list_item", (start,)))
    return drafts


def paragraph_end(source: Source, first: int) -> int:
    """One past the last line of the paragraph at line `first`."""
    number = first + 1
    while number < len(source.lines) and not _interrupts(source, number, in_list=False):
        if _steps_in(source, first, number) or _steps_out(source, first, number):
            break
        number += 1
    return number


def paragraph_drafts(source: Source, first: int, stop: int) -> list[Draft]:
    """The sentences of a paragraph; line breaks part them where they are meant to."""
    heads = [first, *_meant_breaks(source, first, stop), stop]
    drafts = []
    for head, behind in pairwise(heads):
        start, end = source.lines[head].start, source.lines[behind - 1].end
        starts = sentence_starts(source.text, start, end, language=source.language)
        drafts += [Draft(n) for n in starts]
    return drafts


def _underlines(source: Source, number: int) -> bool:
    """Whether line `number` underlines the one above, as in Markdown or reStructuredText."""
    shown, above = source.shown(number), source.shown(number - 1)
    if source.lines[number].gap or shown[0] not in _UNDERLINE_SIGNS or shown.strip(shown[0]):
        return False
    enough = 2 if shown[0] in "=-" else max(4, len(above))
    return len(shown) >= enough and len(above) <= _MOST_HEADING_CHARS and not is_rule(above)


def _is_bare_heading(source: Source, first: int, *, in_list: bool) -> bool:
    """Whether a short line that ends in no mark stands alone above some text."""
    shown, behind = source.shown(first), first + 1
    numbered = _ORDERED.match(shown)
    if behind >= len(source.lines) or len(shown) > _MOST_HEADING_CHARS:
        return False
    if _FINAL_MARK.search(shown, numbered.end() if numbered else 0):
        return False
    if not any(map(str.isalpha, shown)) or len(shown.split()) > _MOST_HEADING_WORDS:
        return False
    if source.is_deeper(behind, first):
        return shown.isupper() and source.lines[first].indent == 0
    alone = source.lines[first].gap and source.lines[behind].gap
    begins = next(filter(str.isalnum, shown))
    if not alone or begins.islower() or _BULLET.match(shown):
        return False
    return not (numbered and (in_list or _ORDERED.match(source.shown(behind))))


def _is_item(source: Source, number: int, *, in_list: bool) -> bool:
    line = source.lines[number]
    if _BULLET.match(source.text, line.body, line.end):
        return not is_rule(source.shown(number))
    mark = _ORDERED.match(source.text, line.body, line.end)
    if not mark:
        return False
    if in_list or (mark["value"] in _FIRST_VALUES and (mark["close"] != "." or _counts(mark))):
        return True
    return line.gap and mark["value"].isdecimal()


def _counts(mark: re.Match[str]) -> bool:
    """Whether "value." is a number or a small letter; "A. Smith" is a name."""
    return mark["value"].isdecimal() or mark["value"].islower()


def _interrupts(source: Source, number: int, *, in_list: bool) -> bool:
    """Whether line `number` begins something else than a continuation of the text above."""
    if source.lines[number].gap:
        return True
    shown = source.shown(number)
    if shown[0].isalpha() and shown[1:2].isalpha():
        return False  # what no mark begins, the common case
    if is_fence(shown) or is_rule(shown) or is_table_row(shown) or shown.startswith(">>> "):
        return True
    return bool(_ATX.match(shown)) or _is_item(source, number, in_list=in_list)


def _ends(source: Source, number: int) -> bool:
    return source.shown(number)[-1] in ".!?。！？"


def _steps_in(source: Source, first: int, number: int) -> bool:
    """Whether line `number` is set in from the paragraph, and not just its hanging indent."""
    if source.lines[number].indent < source.lines[first].indent + 4:
        return False
    return not source.shown(number)[0].islower() or source.shown(number - 1)[-1] in ".:)"


def _steps_out(source: Source, first: int, number: int) -> bool:
    """Whether line `number` leaves a paragraph whose first line was not just set in."""
    if source.lines[number].indent > source.lines[number - 1].indent - 4:
        return False
    return number > first + 1 or _ends(source, first)


def _meant_breaks(source: Source, first: int, stop: int) -> Iterator[int]:
    """Lines before which the author broke the line on purpose."""
    if stop - first < 2:
        return
    numbers = range(first, stop)
    for pattern, fewest in ((_RECORD, 1), (_KEY_VALUE, _FEWEST_KEY_VALUES)):
        records = [n for n in numbers if pattern.match(source.shown(n))]
        if len(records) >= max(fewest, _RECORD_SHARE * len(numbers)):
            yield from (n for n in records if n > first)
            return
    width = max(_width(source, n) for n in numbers)
    verse = _is_verse(source, numbers, width)
    yield from (n for n in numbers[1:] if verse or _is_meant(source, n, width))


def _width(source: Source, number: int) -> int:
    line = source.lines[number]
    return line.indent + line.end - line.body


def _is_verse(source: Source, numbers: range, width: int) -> bool:
    """Whether all lines are short and begin with a capital."""
    if len(numbers) < _FEWEST_VERSES or width > _MOST_VERSE_CHARS:
        return False
    return all(source.shown(n)[0].isupper() for n in numbers)


def _is_meant(source: Source, number: int, width: int) -> bool:
    """Whether the first word of line `number` would have fitted on the line above."""
    shown, above = source.shown(number), source.shown(number - 1)
    if width > _MOST_WRAP_CHARS:
        return not shown[0].islower() or above[-1] in _FINAL
    word = shown.split(maxsplit=1)[0]
    if word == shown and shown.isascii() and above.isascii() and " " not in above:
        return True  # a column of names or addresses
    needed = len(word) + 1 if word.isascii() else 2
    spare = width - _width(source, number - 1) - needed
    return spare > _SLACK_SHARE * width and not shown[0].islower() and above[-1] not in ",、，"
