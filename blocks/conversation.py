"""What a conversation asks last, as a query that stands alone.

A follow-up leans on what was said before: "How do I create one?", "And in 2020?". The last user
turn is the question. Before it are put the names of the exchange that it follows; and the question
before, where this one leans on it or the exchange holds no names, as in scripts without capitals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import EmptyQueryError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Query = str | Sequence[Mapping[str, Any]]
"""A question, or a conversation in the form of OpenAI's messages, oldest first."""

MAX_REFERENT_CHARS = 400
"""Names, and as much of the question before: some hundred tokens, a small part of any window."""

SHORT_WORDS = 5
"""A question of fewer words leans on the one before it."""

_EXCHANGE = 2
"""Turns before the question whose names join it: the question before, and its answer."""

_PRONOUN = r"(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|ones?)\b"
_LEANING = re.compile(
    r"^\W*(?:and|or|but|so|then|also|what about|how about)\b"
    rf"|\b{_PRONOUN}|\b(?:there|same|other|another|else|both|such)\b",
    re.IGNORECASE,
)
_OPENS_LEANING = re.compile(rf"\W*{_PRONOUN}", re.IGNORECASE)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_TOKEN = re.compile(r"(?<![\w'’.-])\w(?:[\w.'’-]*\w)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n*•]\s*[\"'“‘(\[]*\s*|[-–]\s+|\d[.)]\s+)$")
_LOOK_BACK = 6
_MAX_SCANNED = 20_000
"""Characters at the end of a turn that are searched for names: no log pasted in costs seconds."""


def standalone(query: Query) -> str:
    """The query to read: a str as it is; of a conversation, its last question with its referents.

    Args:
        query: A question, or messages `{"role": ..., "content": ...}`, oldest first; content is a
            str, or a list of parts, of which those of type "text" count. System and tool messages
            are left out.

    Raises:
        EmptyQueryError: There is no user turn, or the last one holds nothing visible.
        InputError: It is neither a str nor messages.
    """
    if isinstance(query, str):
        return query
    if isinstance(query, bytes | Mapping) or not isinstance(query, Sequence):
        raise InputError(
            f"the query is {type(query).__name__}; give a str, or a list of messages "
            '{"role": "user", "content": "..."}'
        )
    turns = [turn for n, message in enumerate(query, start=1) if (turn := _turn(message, n))]
    asked = [n for n, (role, text) in enumerate(turns) if role == "user" and text.strip()]
    if not asked or any(role == "user" for role, _ in turns[asked[-1] + 1 :]):
        raise EmptyQueryError("the conversation ends without a question; add a user message")
    question = turns[asked[-1]][1].strip()
    exchange = [text[-_MAX_SCANNED:] for _, text in turns[: asked[-1]][-_EXCHANGE:]]
    before = turns[asked[-2]][1].strip() if len(asked) > 1 else ""
    return "\n".join(part for part in (*_referents(question, exchange, before), question) if part)


def _referents(question: str, exchange: Sequence[str], before: str) -> Iterator[str]:
    names = _names(exchange, unlike=question)
    if not names or leans(question):
        yield _clip(before)
    yield names


def leans(question: str) -> bool:
    """Whether a question cannot be understood without the one before it, as far as words tell."""
    words = len(_WORD.findall(question)) + len(_UNSPACED.findall(question)) // 2
    return words < SHORT_WORDS or bool(_LEANING.search(question))


def opens_leaning(sentence: str) -> bool:
    """Whether a sentence speaks, by its first word, of what was named before it."""
    return _OPENS_LEANING.match(sentence) is not None


def _turn(message: object, number: int) -> tuple[str, str] | None:
    """(role, text) of a message of the user or the assistant; None of another.

    Raises:
        InputError: It is no message.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InputError(
            f'message {number} of the conversation is no {{"role": ..., "content": ...}}'
        )
    if message["role"] not in ("user", "assistant"):
        return None
    content = message.get("content")
    match content:
        case None:  # an assistant's call of a tool
            return message["role"], ""
        case str():
            return message["role"], content
        case list() | tuple():
            return message["role"], "\n".join(_texts(content, number))
    raise InputError(
        f"the content of message {number} is {type(content).__name__}; give a str, or a list of "
        "parts"
    )


def _texts(parts: Iterable[object], number: int) -> Iterator[str]:
    for part in parts:
        if not isinstance(part, Mapping):
            raise InputError(f"message {number} holds a part that is {type(part).__name__}")
        if isinstance(part.get("text"), str) and part.get("type", "text") == "text":
            yield part["text"]


def _names(exchange: Sequence[str], *, unlike: str) -> str:
    """Names that the exchange holds and the question does not, those said last first to be kept."""
    found = dict.fromkeys(
        name for text in reversed(exchange) for name in _names_in(text) if name not in unlike
    )
    kept: list[str] = []
    room = MAX_REFERENT_CHARS
    for name in found:
        room -= len(name) + 1
        if room < 0:
            break
        kept.append(name)
    return " ".join(kept)


def _names_in(text: str) -> Iterator[str]:
    """Runs of words with a capital or a digit: "Watson Assistant v2", "IBM", "Article 5"."""
    for start, words in _runs(text):
        if _SENTENCE_START.search(text[max(0, start - _LOOK_BACK) : start]):
            # There a capital says nothing, unless the word holds another.
            tells = any(c.isdigit() or c.isupper() for c in words[0][1:])
            words = words if tells else words[1:]
        name = " ".join(words)
        if len(name) > 1 and any(c.isalpha() for c in name):
            yield name


def _runs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Where each run of such words starts, and its words."""
    start, end, words = 0, -1, list[str]()
    for match in _TOKEN.finditer(text):
        word = match.group()
        if not (word[0].isupper() or any(c.isdigit() for c in word[:2])):
            continue
        if words and text[end : match.start()] == " ":
            words.append(word)
        else:
            if words:
                yield start, words
            start, words = match.start(), [word]
        end = match.end()
    if words:
        yield start, words


def _clip(text: str) -> str:
    """The end of a text, from a word on: what is asked stands there."""
    if len(text) <= MAX_REFERENT_CHARS:
        return text
    end = text[-MAX_REFERENT_CHARS:]
    return end.partition(" ")[2] or end
