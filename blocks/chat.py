"""Chat templates, split into the parts around their content.

A template is rendered once around slots and split there; what goes into the slots is tokenized
apart, as data. So no marker in a passage, a title or a question can end a turn or begin one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tokens import TextTokenizer

Message = dict[str, str]

SYSTEM_SLOT = "\u2063system\u2063"
USER_SLOT = "\u2063user\u2063"


def message(role: str, content: str) -> Message:
    """One message of a chat."""
    return {"role": role, "content": content}


def around_slots(
    tokenizer: TextTokenizer, messages: list[Message], slots: Sequence[str]
) -> list[tuple[int, ...]]:
    """Ids of the template before, between and after its slots, up to where an answer begins.

    Empty if there is no template, if it refuses these roles, or if it does not show each slot once
    and in order.
    """
    rest = rendered(tokenizer.hf, messages, add_generation_prompt=True)
    parts = []
    for slot in slots:
        if rest.count(slot) != 1:
            return []
        part, _, rest = rest.partition(slot)
        parts.append(part)
    return [tuple(tokenizer.encode_template(part)) for part in (*parts, rest)]


def rendered(hf: Any, messages: list[Message], **options: bool) -> str:
    """The template's text; empty if there is no template or it refuses these roles."""
    if not getattr(hf, "chat_template", None):
        return ""
    from jinja2 import TemplateError

    try:
        text: str = hf.apply_chat_template(messages, tokenize=False, **options)
    except TemplateError:
        return ""
    return text


def opening(tokenizer: TextTokenizer) -> tuple[int, ...]:
    """What the tokenizer puts before any text: the BOS token, or nothing."""
    return tuple(tokenizer.hf("")["input_ids"][:1])
