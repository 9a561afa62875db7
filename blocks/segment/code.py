"""Code: fenced, indented, or known by its looks; cut into groups of statements."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from .lines import is_rule
from .source import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .source import Source

_FENCE = re.compile(r"(?P<fence>`{3,}(?![^\n]*`)|~{3,})")
_PROMPT = re.compile(r">>> |\$ \S|In \[\d+\]: ")
# A block that begins like this is code, whatever its docstring looks like.
_BEGINS_CODE = re.compile(
    r"""(?: (?:async\ +)?def\ +\w+\ *\( | class\ +\w+[^.\n]{0,80}[:{]$ | @\w[\w.]*(?:\(.{0,200}\))?$
        | import\ +[\w.]+(?:\ +as\ +\w+)?;?$ | from\ +[\w.]+\ +import\ | \#include\b | \#!/ | <\?php
        | (?:export\ |public\ |private\ |static\ |async\ )*(?:function|func|fn)\ +\w+\ *[(<]
        | (?:package|using)\ +[\w.]+;$ | (?:const|let|var)\ +\w+\ *= | [{\[](?:$|\s*["{\[])
        | (?:SELECT|INSERT\ INTO|UPDATE|DELETE\ FROM|CREATE)\ .{0,200}[;(]$ )""",
    re.VERBOSE,
)
_CODE_LINE = re.compile(
    r"""(?: (?:if|elif|else|for|while|with|try|except|finally|switch|catch|do)\b.{0,200}[:{]$
        | (?:return|yield|raise|throw|assert)\b.{0,200}[\])};'"]$ | return(?:\ [\w.]+)?;?$
        | (?:public|private|protected|static)\ .{0,200}[{;(]$
        | [\w.\[\]"']{1,80}(?:,\ ?[\w.]{1,40}|:\ ?[\w.\[\]]{1,40})?\ *(?:[-+*/|&:]|)=\ *\S
        | [\w.]{1,80}\(.{0,200}\)[;,:]?$ | ["'][^"'\n]{1,80}["']\ *(?::|,?$) | [{}\[\])(]+[;,]?$
        | </?\w[^>\n]{0,200}>$ | // | /\* | \*/ | \"\"\" | ''' | .{0,200}[{;]$ )""",
    re.VERBOSE,
)
_CODE_SIGN = re.compile(r"[={}\[\];<>$_\\|&]|\w\(")
_COMMENT = re.compile(r"#(?: |$)|@\w|//|--(?: |$)")
_WORD = re.compile(r"[(\"'“‘]?[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?)\"'”’]*(?=\s|$)")
_SIGNATURE = re.compile(
    r"(?:class |async )?[A-Za-z_][\w.]*\(.*\)(?: ?-> ?\S.*| from \S+| method of \S+.*)?"
)
# Lines that go on with the statement above although they stand no deeper.
_GOES_ON = re.compile(r"[})\]]|(?:else|elif|except|finally|catch|end|fi|done|esac)\b|\.\w")

_JUDGED_LINES = 30  # a block is judged by its first lines
_CODE_SHARE, _PROSE_SHARE, _FEWEST_WORDS = 0.6, 0.7, 4
_CODE_INDENT = 4
# Statements are grouped up to this length, or up to a blank line, but not left alone if tiny.
_GROUP_SIZE, _SMALL_GROUP_SIZE = 64.0, 8.0


def is_fence(shown: str) -> bool:
    """Whether a line opens a fenced block."""
    return bool(_FENCE.match(shown))


def fence_end(source: Source, first: int) -> int:
    """One past the last line of the fenced block at line `first`, or `first` if none starts."""
    opening = _FENCE.match(source.shown(first))
    if not opening:
        return first
    for number in range(first + 1, len(source.lines)):
        if _closes(source.shown(number), opening["fence"]):
            return number + 1
    return len(source.lines)


def fence_drafts(source: Source, first: int, stop: int) -> list[Draft]:
    """The opening fence, then the groups that need it; one draft if there is but one group."""
    fence = source.lines[first].start
    mark = _FENCE.match(source.shown(first))
    closed = stop - first > 1 and mark and _closes(source.shown(stop - 1), mark["fence"])
    starts = list(_groups(source, first + 1, stop - 1 if closed else stop))
    if len(starts) < 2:
        return [Draft(fence, "code")]
    return [Draft(fence, "code"), *(Draft(start, "code", (fence,)) for start in starts)]


def code_end(source: Source, first: int, *, in_list: bool) -> int:
    """One past the last line of the code without a fence at line `first`, or `first` if none."""
    stop = source.block_end(first)
    may_be_set_in = not in_list and _is_deep(source, first)
    set_in = may_be_set_in and not _reads_as_text(source, first, stop)
    if not (set_in or _is_code(source, first, stop)):
        return first
    opened = _leaves_docstring_open(source, first, stop, opened=False)
    while stop < len(source.lines):
        behind = source.block_end(stop)
        if not (opened or _belongs(source, first, stop, behind)):
            break
        opened = _leaves_docstring_open(source, stop, behind, opened=opened)
        stop = behind
    return stop


def code_drafts(source: Source, first: int, stop: int) -> list[Draft]:
    """Groups of statements in lines `first` to `stop`."""
    return [Draft(start, "code") for start in _groups(source, first, stop)]


def signature_end(source: Source, first: int) -> int:
    """One past a call signature that heads deeper text, as pydoc prints it, or `first`."""
    heads = source.is_deeper(first + 1, first) and _SIGNATURE.fullmatch(source.shown(first))
    return first + 1 if heads else first


def _closes(shown: str, fence: str) -> bool:
    return shown.startswith(fence) and not shown.strip(fence[0])


def _is_code(source: Source, first: int, stop: int) -> bool:
    shown = source.shown(first)
    if _PROMPT.match(shown) or _BEGINS_CODE.match(shown):
        return True
    if not (_COMMENT.match(shown) or _is_code_line(shown)):
        return False
    judged = range(first, min(stop, first + _JUDGED_LINES))
    lines = [line for line in map(source.shown, judged) if not _COMMENT.match(line)]
    if not lines:
        return len(judged) > 1  # a lone "# ..." is a heading, several are a comment
    if stop - first == 1 and _reads_as_text(source, first, stop):
        return False
    return sum(map(_is_code_line, lines)) >= _CODE_SHARE * len(lines)


def _is_code_line(shown: str) -> bool:
    return bool(_CODE_LINE.match(shown) or _BEGINS_CODE.match(shown))


def _is_deep(source: Source, first: int) -> bool:
    """Whether a block is set in from the text before it as code is in Markdown."""
    line = source.lines[first]
    around = source.lines[first - 1].indent if first else 0
    return line.gap and line.indent >= around + _CODE_INDENT


def _reads_as_text(source: Source, first: int, stop: int) -> bool:
    """Whether most of a block is plain words, or nothing in it has a use in code."""
    shown = " ".join(map(source.shown, range(first, min(stop, first + _JUDGED_LINES))))
    words = shown.split()
    plain = sum(bool(_WORD.match(word)) or not word.isascii() for word in words)
    wordy = len(words) >= _FEWEST_WORDS and plain >= _PROSE_SHARE * len(words)
    return wordy or not _CODE_SIGN.search(shown)


def _belongs(source: Source, first: int, start: int, stop: int) -> bool:
    """Whether the block at `start` goes on with the code that begins at `first`."""
    head, line = source.lines[first], source.lines[start]
    if (head.body > head.start) != (line.body > line.start):
        return False
    if line.indent < head.indent or is_rule(source.shown(start)):
        return False
    if line.indent > head.indent and _BEGINS_CODE.match(source.shown(first)):
        return True
    if line.indent > head.indent or _is_deep(source, first):
        return not _reads_as_text(source, start, stop)
    return _is_code(source, start, stop)


def _leaves_docstring_open(source: Source, first: int, stop: int, *, opened: bool) -> bool:
    block = source.text[source.lines[first].body : source.lines[stop - 1].end]
    return opened != bool((block.count('"""') + block.count("'''")) % 2)


def _groups(source: Source, first: int, stop: int) -> Iterator[int]:
    """Starts of the groups of statements in lines `first` to `stop`."""
    ends = [*_statements(source, first, stop), stop]
    size = 0.0
    for number, behind in pairwise(ends):
        line = source.lines[number]
        added = source.ruler.size(line.start, source.lines[behind - 1].end)
        full = line.gap or size + added > _GROUP_SIZE
        if number == first or (full and size >= _SMALL_GROUP_SIZE):
            yield line.start
            size = 0.0
        size += added


def _statements(source: Source, first: int, stop: int) -> Iterator[int]:
    """Lines that begin a statement at the outermost level, `first` among them."""
    outer = min((line.indent for line in source.lines[first:stop]), default=0)
    prompted = first < stop and bool(_PROMPT.match(source.shown(first)))
    for number in range(first, stop):
        if number == first:
            yield number
        elif prompted:
            if _PROMPT.match(source.shown(number)):
                yield number
        elif source.lines[number].indent == outer and not _clings(source, number):
            yield number


def _clings(source: Source, number: int) -> bool:
    """Whether a line belongs to the one above: a closing bracket, or what a comment explains."""
    if _GOES_ON.match(source.shown(number)):
        return True
    return not source.lines[number].gap and bool(_COMMENT.match(source.shown(number - 1)))
