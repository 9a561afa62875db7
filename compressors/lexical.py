"""BM25 over title and unit: no model, any script; the baseline, and the answer in need.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), equation
3.15, with the never-negative IDF of Lucene. Document frequencies come from the candidates' own
units.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import best_per_passage
from foveate.blocks.memo import remembering

from .base import Candidates, Scorer, Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

K1 = 1.2
B = 0.75

MAX_REMEMBERED_TEXTS = 32_768

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
)
# Vowel signs and other marks that belong to the letter before them, but are not letters themselves.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0970-\u0dff"
_LETTER = rf"[^\W\d_{_UNSPACED}]"
_TERM = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    r"|\d+(?:[.,]\d+)*"
    rf"|{_LETTER}(?:{_LETTER}|[{_MARKS}])*(?:['’]{_LETTER}+)?"
)


class Lexical(Scorer):
    """BM25 with the usual parameters.

    Its scores are shares of the most that a unit could reach: comparable, but no probabilities.
    """

    name = "lexical"
    reads = False

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`."""
        query = dict.fromkeys(terms(candidates.query))
        documents = unit_terms(candidates)
        raw, best = bm25(query, documents)
        units = raw / best if best > 0 else raw
        passages = best_per_passage(candidates, units)
        # BM25 can say that no word was found; how far a found one answers, it cannot.
        return Scores(units, passages, nothing=float(not units.any()))


def unit_terms(candidates: Candidates) -> list[Counter[str]]:
    """Terms of title and unit, counted, for each unit."""
    titles = [Counter(terms(passage.title)) for passage in candidates.passages]
    return [
        titles[owner] + Counter(terms(text))
        for owner, text in zip(candidates.owners, candidates.texts, strict=True)
    ]


def bm25(
    query: Iterable[str], documents: Sequence[Counter[str]]
) -> tuple[NDArray[np.float64], float]:
    """BM25 of each document, and the score that no document can pass.

    Args:
        query: Distinct query terms.
        documents: Term counts.

    Returns:
        Scores, shape (documents,), and their least upper bound for this query and these document
        frequencies.
    """
    lengths = np.array([document.total() for document in documents], dtype=np.float64)
    scores = np.zeros(len(documents))
    if not lengths.sum():
        return scores, 0.0
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    best = 0.0
    held = frozenset().union(*documents)
    # Of a query as long as a document, most terms stand nowhere.
    for term in [term for term in query if term in held]:
        counts = np.array([document[term] for document in documents], dtype=np.float64)
        found = np.count_nonzero(counts)
        idf = np.log1p((len(documents) - found + 0.5) / (found + 0.5))
        scores += idf * counts * (K1 + 1) / (counts + norm)
        # A term that no unit holds asks for what is not here; it lowers nobody.
        best += idf * (K1 + 1)
    return scores, float(best)


def terms(text: str) -> tuple[str, ...]:
    """Index terms: folded words, plain numbers, character pairs where words are not spaced."""
    return _remembered_terms(text)


def _terms(text: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for match in _TERM.finditer(folded):
        run = match.group()
        if match.group("unspaced"):
            found.extend(_pairs(run))
        elif run[0].isdigit():
            found.append(run.replace(",", ""))
        else:
            found.append(_singular(run))
    return tuple(found)


def _pairs(run: str) -> Iterable[str]:
    return (run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else (run,)


def _singular(word: str) -> str:
    """Harman's S-stemmer, for English; it leaves short words and other endings alone."""
    word = word.removesuffix("'s").removesuffix("’s")
    if len(word) < 4 or not word.isascii() or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word.removesuffix("s")


_remembered_terms = remembering(_terms, texts=MAX_REMEMBERED_TEXTS)
