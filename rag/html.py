"""A context to look at: one fragment for notebooks, one page, or a report of several.

Self-contained and inert: styles inline, no script, nothing loaded, and a content security policy
that forbids both. All text is escaped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._html_charts import stacks
from ._html_context import anchor, context_view
from ._html_style import STYLE
from ._html_text import escape
from ._view import clip
from .context import Context
from .prompt import cited

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .prompt import Citation

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_NUMBER = re.compile(r"\d+")
TITLE = 80  # columns


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer with its citations as links into the view of its context.

    Attributes:
        text: The answer.
        context: What it was given from.
        label: What stands above it.
    """

    text: str
    context: Context
    label: str = "Answer"


@dataclass(frozen=True, slots=True)
class Timings:
    """Several runs side by side, such as cold and warm.

    Attributes:
        runs: For each run, milliseconds by stage, "total" among them.
        label: What stands above them.
    """

    runs: Mapping[str, Mapping[str, float]]
    label: str = "Time"


Part = str | Context | Cited | Timings


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it: text, contexts, answers, timings.

    Attributes:
        heading: The heading; may be empty.
        parts: In order.
    """

    heading: str = ""
    parts: Sequence[Part] = ()


def fragment(context: Context) -> str:
    """A context as one element, with its styles: what a notebook shows."""
    return f'<div class="fv fv-frag"><style>{STYLE}</style>{context_view(context)}</div>'


def page(context: Context) -> str:
    """A context as a whole document."""
    return _document(f"Foveate: {clip(context.query, TITLE)}", context_view(context, "c1"))


def report(title: str, sections: Iterable[Section]) -> str:
    """Several contexts on one page, with text, answers and timings between them.

    Args:
        title: The page's heading.
        sections: What it holds, in order.
    """
    sections = list(sections)
    anchors = _Anchors(part for section in sections for part in section.parts)
    body = "".join(_section(section, anchors) for section in sections)
    return _document(title, f"<h1>{escape(title)}</h1>{body}")


def _document(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>body{{margin:0}}{STYLE}</style>\n</head>\n"
        '<body class="fv fv-page"><main class="fv-wide">'
        f'<div class="fv-brand">foveate</div>{body}</main></body>\n</html>\n'
    )


class _Anchors:
    """Prefixes of the contexts on a page; one that is shown twice has its anchors once."""

    def __init__(self, parts: Iterable[Part]) -> None:
        contexts = dict.fromkeys(id(part) for part in parts if isinstance(part, Context))
        self._names = {key: f"c{n}" for n, key in enumerate(contexts, start=1)}
        self._drawn: set[int] = set()

    def of(self, context: Context) -> str:
        """For links; empty if the context is not on the page."""
        return self._names.get(id(context), "")

    def draw(self, context: Context) -> str:
        """For the view itself; empty the second time."""
        first = id(context) not in self._drawn
        self._drawn.add(id(context))
        return self.of(context) if first else ""


def _section(section: Section, anchors: _Anchors) -> str:
    heading = f'<h2 dir="auto">{escape(section.heading)}</h2>' if section.heading else ""
    parts = "".join(_part(part, anchors) for part in section.parts)
    return f'<section class="fv-section">{heading}{parts}</section>'


def _part(part: Part, anchors: _Anchors) -> str:
    match part:
        case str():
            return f'<div class="fv-prose" dir="auto">{escape(part)}</div>'
        case Context():
            return context_view(part, anchors.draw(part))
        case Cited():
            return _cited(part, anchors.of(part.context))
        case Timings():
            label = f'<div class="fv-label">{escape(part.label)}</div>'
            return f'<div class="fv-panel">{label}{stacks(part.runs)}</div>'


def _cited(answer: Cited, prefix: str) -> str:
    citations = cited(answer.text, answer.context)
    by_number = {citation.number: citation for citation in citations}
    places = sorted({place for citation in citations for place in citation.places})
    out, at = [], 0
    for start, end in places:
        out.append(escape(answer.text[at:start]))
        out.append(_bracket(answer.text[start:end], by_number, answer.context, prefix))
        at = end
    out.append(escape(answer.text[at:]))
    references = "".join(_reference(c, answer.context, prefix) for c in citations)
    sources = f'<ul class="fv-refs">{references}</ul>' if references else ""
    return (
        f'<div class="fv-answer"><div class="fv-label">{escape(answer.label)}</div>'
        f'<div class="fv-prose" dir="auto">{"".join(out)}</div>{sources}</div>'
    )


def _bracket(text: str, citations: Mapping[int, Citation], context: Context, prefix: str) -> str:
    return _NUMBER.sub(lambda n: _link(n[0], citations[int(n[0])], context, prefix), text)


def _link(text: str, citation: Citation, context: Context, prefix: str) -> str:
    if citation.index is None or not citation.seen:
        why = "there is no such source" if citation.index is None else "this source was left out"
        return f'<span class="fv-cite fv-bad" title="{why}">{escape(text)}</span>'
    title = escape(_name(citation, context))
    if not prefix:
        return f'<span class="fv-cite" title="{title}">{escape(text)}</span>'
    target = escape(anchor(prefix, citation.index))
    return f'<a class="fv-cite" href="#{target}" title="{title}">{escape(text)}</a>'


def _reference(citation: Citation, context: Context, prefix: str) -> str:
    number = _link(str(citation.number), citation, context, prefix)
    return f"<li>[{number}] <bdi>{escape(_name(citation, context))}</bdi></li>"


def _name(citation: Citation, context: Context) -> str:
    if citation.index is None:
        return "there is no such source"
    passage = context.passages[citation.index]
    left_out = "" if citation.seen else " (left out of the context)"
    also = ", ".join(
        clip(context.passages[i].title or context.passages[i].id, 100) for i in citation.also
    )
    return clip(passage.title or passage.id, 100) + left_out + (f"; also {also}" if also else "")
