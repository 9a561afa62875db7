"""From a context to a chat: messages, markers made harmless, and the citations of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .context import Context
    from .render import Span

GROUNDED = (
    "Answer the question from the sources alone. "
    "If they do not hold the answer, say that they do not."
)
CITE = (
    " After each statement put the number of its source in brackets, like [2]; "
    "several like [1, 3]. Cite no other numbers."
)
NO_SOURCES = "(no source was found)"

ZERO_WIDTH_SPACE = "\u200b"

# Tags of reasoning and of tools, such as <think> or <tool_call>, are left alone: they open no turn.
_SQUARE = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|TOOL_CALLS|"
    "MODEL_SETTINGS|gMASK|sMASK"
)
_ANGLE = (
    "s|bos|eos|sop|eop|pad|unk|BOS_TOKEN|EOS_TOKEN|EOD_TOKEN|PAD|seed:[a-z_]+|"
    "start_of_turn|end_of_turn|end_of_utterance|startoftext|endoftext|begin_of_text|end_of_text|"
    r"unused\d+|reserved_\d+|extra_id_\d+|SPECIAL_\d+"
)
_MARKERS = (
    rf"<[|｜][^<>\n{ZERO_WIDTH_SPACE}]{{1,80}}?[|｜]>",  # <|im_end|>, <｜end▁of▁sentence｜>
    rf"<[|｜][^\s<>|｜{ZERO_WIDTH_SPACE}]{{1,40}}>",  # <|turn>, Gemma 4
    rf"<[^\s<>|｜{ZERO_WIDTH_SPACE}]{{1,40}}[|｜]>",  # <turn|>
    rf"\[\|[^\s\[\]{ZERO_WIDTH_SPACE}]{{1,40}}\|\]",  # [|endofturn|], EXAONE
    rf"\[/?(?:{_SQUARE})\]",  # [INST], Mistral and Llama 2; [gMASK], GLM
    r"<</?SYS>>",
    rf"</?(?:{_ANGLE})>",
    r"\]~!?b[\[\]]|\[e~\[",  # ]~!b[, ]~b], [e~[, MiniMax
)
# The lookahead finds markers that begin inside another one too.
_MARKER = re.compile(f"(?={'|'.join(_MARKERS)})")

_CITATION = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;]\s*\d{1,9})*)\s*\]")
_SEPARATORS = re.compile(r"[\s,;]+")


@dataclass(frozen=True, slots=True)
class Citation:
    """One source that an answer names.

    Attributes:
        number: The number as it stands in the answer.
        places: Where, as character spans of the answer, brackets included.
        index: Index of the passage in the caller's list; None if there is no such passage.
        passage_id: The passage's id; empty if there is none.
        spans: Kept character spans of the passage; empty if the generator never saw it.
        also: Indices of other passages that say the same as something kept of it, ascending.
    """

    number: int
    places: tuple[Span, ...]
    index: int | None
    passage_id: str
    spans: tuple[Span, ...]
    also: tuple[int, ...] = ()

    @property
    def seen(self) -> bool:
        """Whether the generator saw this source. A citation of an unseen one is made up."""
        return bool(self.spans)


def chat_messages(context: Context, *, instruction: str | None = None) -> list[dict[str, str]]:
    """A system message that binds the answer to the sources, and a user message: sources, question.

    The question stands last, so that requests over the same sources share a prefix.

    Args:
        context: What the generator should see.
        instruction: The system message; by default one that asks for an answer from the sources
            alone, with their numbers in brackets if `context.style` numbers them.
    """
    if instruction is None:
        instruction = GROUNDED + (CITE if context.style.numbered else "")
    sources = context.text or NO_SOURCES
    return [
        {"role": "system", "content": instruction},
        {"role": "user", "content": f"Sources:\n\n{sources}\n\nQuestion: {context.query}"},
    ]


def defuse(text: str) -> str:
    """Break chat markers, so that an endpoint's tokenizer cannot take content for control tokens.

    A zero-width space goes in after the first character of each marker of any known family; nothing
    else changes. Applying it again changes nothing.
    """
    cuts = [match.start() + 1 for match in _MARKER.finditer(text)]
    edges = [0, *cuts, len(text)]
    return ZERO_WIDTH_SPACE.join(text[a:b] for a, b in pairwise(edges))


def cited(answer: str, context: Context) -> tuple[Citation, ...]:
    """The sources that an answer names, in the order it names them: `[2]`, `[1, 3]`, `[1][2]`.

    Numbers are places in the caller's list, from 1. One that is out of range is reported with
    `index` None.
    """
    places: dict[int, list[Span]] = {}
    for number, place in _numbers(answer):
        seen = places.setdefault(number, [])
        if place not in seen:
            seen.append(place)
    spans = context.spans()
    return tuple(_citation(n, tuple(where), context, spans) for n, where in places.items())


def _citation(
    number: int, places: tuple[Span, ...], context: Context, spans: dict[int, list[Span]]
) -> Citation:
    index = number - 1
    if not 0 <= index < len(context.passages):
        return Citation(number, places, None, "", ())
    kept = tuple(spans.get(index, ()))
    also = {i for piece in context.kept if piece.passage == index for i in piece.also_in}
    return Citation(number, places, index, context.passages[index].id, kept, tuple(sorted(also)))


def _numbers(answer: str) -> Iterator[tuple[int, Span]]:
    for match in _CITATION.finditer(answer):
        for number in _SEPARATORS.split(match[1]):
            yield int(number), match.span()
