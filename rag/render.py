"""From kept spans to the text that a generator sees: verbatim, with a mark at each gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from foveate.blocks.passage import Passage

Span = tuple[int, int]

ELISION = "…"
SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Style:
    """How passages are laid out.

    Attributes:
        titles: Put the title on a line of its own above each passage that has one.
        numbered: Put `[n]` before each passage, n being its place in the caller's list, so that an
            answer can cite it and the number holds whatever the order.
    """

    titles: bool = True
    numbered: bool = False


def render(
    passages: Sequence[Passage],
    kept: Mapping[int, Sequence[Span]],
    order: Sequence[int],
    style: Style,
    untitled: Collection[int] = (),
    spared: Mapping[int, Sequence[Span]] | None = None,
) -> str:
    """The context as text.

    Args:
        passages: All passages.
        kept: For each kept passage, its kept spans, sorted and disjoint.
        order: Indices of the kept passages, first to last.
        style: Layout.
        untitled: Passages whose title is left out all the same.
        spared: For each passage, spans within kept ones that are left out without a mark.
    """
    spared = spared or {}
    return SEPARATOR.join(
        header(passages[i], i, style, titled=i not in untitled)
        + excerpt(passages[i].text, kept[i], spared.get(i, ()))
        for i in order
    )


def header(passage: Passage, index: int, style: Style, *, titled: bool = True) -> str:
    """What stands above a passage; empty if the style asks for nothing, or has it left out."""
    number = f"[{index + 1}] " if style.numbered else ""
    title = f"{passage.title}\n" if titled and style.titles and passage.title else ""
    return number + title


def excerpt(text: str, spans: Sequence[Span], spared: Sequence[Span] = ()) -> str:
    """The kept spans of one text, verbatim, with `…` between those that do not touch.

    What is spared within them is left out without a mark, which would take what it saves.
    """
    if not spans:
        return ""
    body = "".join(_marked(text, list(merge(spans)), spared))
    return body if spans[-1][1] == len(text) else body.rstrip()


def merge(spans: Sequence[Span]) -> Iterator[Span]:
    """Join spans that touch. Takes them sorted and disjoint."""
    start, end = spans[0]
    for next_start, next_end in spans[1:]:
        if next_start == end:
            end = next_end
            continue
        yield start, end
        start, end = next_start, next_end
    yield start, end


def without(span: Span, spared: Sequence[Span]) -> Iterator[Span]:
    """What is left of a span without those of the spared ones that are in it."""
    start, end = span
    for gone, back in spared:
        if start <= gone and back <= end:
            if start < gone:
                yield start, gone
            start = back
    if start < end:
        yield start, end


def _marked(text: str, runs: Sequence[Span], spared: Sequence[Span]) -> Iterator[str]:
    for i, run in enumerate(runs):
        if i:
            yield _mark(text[runs[i - 1][1] - 1])
        yield "".join(text[start:end] for start, end in without(run, spared))


def _mark(before: str) -> str:
    if before == "\n":
        return f"{ELISION}\n"
    return f"{ELISION} " if before.isspace() else f" {ELISION} "
