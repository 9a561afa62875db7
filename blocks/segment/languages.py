"""The language of a text, guessed from its letters: enough to choose sentence rules by."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import lru_cache

# Letters this many characters into a text decide.
_SAMPLE_CHARS = 2_000
_REMEMBERED = 4_096  # texts: a passage is asked about when it is cut and when it is chosen from
_WORD = re.compile(r"[^\W\d_]+")

# (first, last, language): a script stands for the language with most sentence rules of its own.
_SCRIPTS = (
    ("A", "\u024f", "en"),
    ("\u0370", "\u03ff", "el"),
    ("\u0400", "\u052f", "ru"),
    ("\u0530", "\u058f", "hy"),
    ("\u0590", "\u05ff", "he"),
    ("\u0600", "\u077f", "ar"),
    ("\u0900", "\u097f", "hi"),
    ("\u0980", "\u09ff", "bn"),
    ("\u0a00", "\u0a7f", "pa"),
    ("\u0a80", "\u0aff", "gu"),
    ("\u0b80", "\u0bff", "ta"),
    ("\u0c00", "\u0c7f", "te"),
    ("\u0c80", "\u0cff", "kn"),
    ("\u0d00", "\u0d7f", "ml"),
    ("\u0e00", "\u0e7f", "th"),
    ("\u1000", "\u109f", "my"),
    ("\u10a0", "\u10ff", "ka"),
    ("\u1200", "\u139f", "am"),
    ("\u3040", "\u30ff", "ja"),
    ("\u3400", "\u9fff", "zh"),
    ("\uac00", "\ud7af", "ko"),
)
_BLOCK_STARTS = [first for first, _, _ in _SCRIPTS]
# Letters that tell one language of a script from the one the script stands for.
_TELLTALES = (
    ("ru", "ұқңғәөһ", "kk"),
    ("ru", "іїєґ", "uk"),
    ("ar", "ٹڈڑےں", "ur"),
    ("ar", "پچژگ", "fa"),
    ("zh", "のはをにがで", "ja"),
)
# Small words that are frequent in one Latin language and rare in the others.
_SMALL_WORDS = {
    word: language
    for language, words in {
        "en": "the of and that was with for from are this his they have been which",
        "de": "der das und ist nicht mit ein eine auf dem zu wird sich für ich wir sie auch",
        "fr": "les est et une dans qui pour pas du avec sont aux cette",
        "es": "el los las del y es por con su más está pero como",
        "it": "il di che è della gli sono nel alla dei anche più",
        "pt": "os não uma em com são ao dos foi pela",
        "nl": "het een van dat niet zijn voor met wordt ook",
        "da": "og det på ikke til af jeg som",
        "pl": "się nie jest że oraz przez",
    }.items()
    for word in words.split()
}


def guess_language(text: str) -> str:
    """The likeliest ISO 639-1 code, "en" where nothing speaks for another."""
    return _guess(text[:_SAMPLE_CHARS])


@lru_cache(maxsize=_REMEMBERED)
def _guess(sample: str) -> str:
    if sample.isascii():
        return _guess_latin(sample)
    counts = Counter(map(_block_of, sample))
    del counts[""]
    script = max(counts, key=lambda name: counts[name], default="en")
    for base, letters, language in _TELLTALES:
        if script == base and any(letter in sample for letter in letters):
            return language
    return _guess_latin(sample) if script == "en" else script


def _block_of(character: str) -> str:
    """The language whose letters `character` is one of, or ""."""
    block = bisect_right(_BLOCK_STARTS, character) - 1
    if block < 0 or character > _SCRIPTS[block][1] or not character.isalpha():
        return ""
    return _SCRIPTS[block][2]


def _guess_latin(sample: str) -> str:
    votes = Counter(_SMALL_WORDS.get(word, "") for word in _WORD.findall(sample.lower()))
    del votes[""]
    return max(votes, key=lambda name: (votes[name], name == "en"), default="en")
