"""Text to terms, for tantivy: words where words are spaced, character pairs where they are not.

Words go through tantivy's own analyser (`word_analyser`). Runs of Chinese, Japanese, Korean, Thai,
Lao, Burmese or Khmer are cut here into single characters and pairs (`grams`), written with spaces
between.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable

ANALYSIS_VERSION = 1
"""Raise it when terms change: indexes of another version ask to be repaired."""

# First and last code point of what is written without spaces between words; Korean is spaced, but
# glues its particles to the words, so that pairs find more.
_UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Hangul, as letters
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),
    (0x3041, 0x312F),  # kana, Bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),  # Hangul
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_UNSPACED = re.compile(
    "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED_RANGES) + "]+"
)
_WORD_BYTES = 64  # longer "words" are base64, hashes and the like

# Words that ask rather than tell. They stay in the index; a query drops them while other words
# remain.
_ASKING = """
a an and any are as at be been but by can could did do does for from had has have how i if in into
is it its may me my of on or our should so such than that the their them then there these they this
those to us was we were what when where which who whom whose why will with would you your
"""
_QUESTION_WORDS = frozenset(_ASKING.split())


def normalize(text: str) -> str:
    """Compatibility forms to their usual ones (full width, ligatures), so that both sides agree."""
    return unicodedata.normalize("NFKC", text)


def grams(text: str) -> str:
    """Single characters and pairs of the runs that are written without spaces."""
    return " ".join(gram for run in _runs(text) for gram in (*run, *_pairs(run)))


def query_grams(text: str) -> list[str]:
    """Pairs alone, which tell more than single characters; a run of one stays itself."""
    found = (gram for run in _runs(text) for gram in (_pairs(run) or [run]))
    return list(dict.fromkeys(found))


def query_words(text: str, analyser: Any) -> list[str]:
    """Distinct terms of the spaced words of a query; question words only where no others are."""
    spaced = _UNSPACED.sub(" ", text)
    telling = [word for word in spaced.split() if _bare(word) not in _QUESTION_WORDS]
    terms = analyser.analyze(" ".join(telling)) or analyser.analyze(spaced)
    return list(dict.fromkeys(terms))


def word_analyser() -> Any:
    """The tantivy analyser of words: any spaced script, folded; stems of five languages."""
    tantivy = import_tantivy()
    unspaced = "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in _UNSPACED_RANGES)
    words = tantivy.Tokenizer.regex(rf"[\p{{Alphabetic}}\p{{M}}\p{{N}}&&[^{unspaced}]]+")
    filters = tantivy.Filter
    builder = tantivy.TextAnalyzerBuilder(words)
    for step in (
        filters.remove_long(_WORD_BYTES),
        filters.lowercase(),
        filters.ascii_fold(),
        *(
            filters.stemmer(language)
            for language in ("english", "russian", "greek", "arabic", "tamil")
        ),
    ):
        builder = builder.filter(step)
    return builder.build()


def gram_analyser() -> Any:
    """The tantivy analyser of what `grams` wrote."""
    tantivy = import_tantivy()
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def import_tantivy() -> Any:
    """Import tantivy, or say which extra brings it."""
    try:
        import tantivy
    except ImportError as error:
        raise MissingExtraError("tantivy", "retrieval") from error
    return tantivy


def _runs(text: str) -> Iterable[str]:
    return _UNSPACED.findall(text)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _bare(word: str) -> str:
    return word.strip("\"'?!.,:;()").lower()
