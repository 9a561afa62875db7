"""What an answer is worth: token F1, exact match, and whether it cites the passages that hold it.

F1 and exact match follow SQuAD's evaluation (https://arxiv.org/abs/1606.05250, section 6.1) and,
for scripts without spaces and other punctuation, MLQA's (https://arxiv.org/abs/1910.07475): there a
character is a token.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
_CITATION = re.compile(r"\[[\d\s,;]+\]")


def tokens(text: str) -> list[str]:
    """Lower-case words without punctuation and English articles."""
    kept = "".join(character for character in text.lower() if not _is_punctuation(character))
    return _UNSPACED.sub(r" \1 ", _ARTICLES.sub(" ", kept)).split()


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Best token F1 against the accepted answers; two empty answers agree."""
    return max((_f1(tokens(answer), tokens(each)) for each in accepted), default=0.0)


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """1 if the answer is an accepted one, but for case, punctuation and articles."""
    return float(any(tokens(answer) == tokens(each) for each in accepted))


def subspan_match(answer: str, accepted: Sequence[str]) -> float:
    """1 if an accepted answer stands in the answer, word for word.

    For generators that answer in sentences: https://arxiv.org/abs/2307.03172, section 2.2.
    """
    said = _framed(tokens(answer))
    return float(any(words and _framed(words) in said for words in map(tokens, accepted)))


def uncited(answer: str) -> str:
    """The answer without its citations, which are no part of what it says."""
    return " ".join(_CITATION.sub(" ", answer).split())


def citation_precision(cited: Collection[int | None], gold: Collection[int]) -> float | None:
    """Share of the cited passages that hold the answer; None without a citation or a label."""
    if not cited or not gold:
        return None
    return sum(index in gold for index in cited) / len(cited)


def citation_recall(cited: Collection[int | None], gold: Collection[int]) -> float | None:
    """Share of the passages that hold the answer that are cited; None without a label."""
    return len(set(gold) & set(cited)) / len(gold) if gold else None


def _f1(ours: list[str], theirs: list[str]) -> float:
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(ours), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def _framed(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")
