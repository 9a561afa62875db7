"""What of a record is still there after compression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from foveate.compressors.lexical import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .data import GoldSpan, Record
    from .systems import Kept

LABELS = ("evidence_recall", "chain_rate", "answer_survival", "answer_coverage")
NOT_IN_THE_TEXT = {"yes", "no", "maybe", "support", "contradict", "supports", "refutes"}
MIN_TERM = 4
"""Shorter words of a reference are mostly function words."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One record under one system at one budget; None where there is no such label.

    Attributes:
        evidence_recall: Share of gold spans that are kept whole.
        chain_rate: Whether all of them are.
        answer_survival: Whether an answer string is in the text.
        answer_coverage: Share of the reference's words that the passages hold and the text still
            does.
        dangling_rate: Share of the kept units that lean on what was dropped.
        kept_share: Tokens of the text over tokens of all passages rendered.
        tokens_kept: Tokens of the text.
        nothing: How far the system says that no passage holds the answer.
        answerable: Whether some passage does.
        ms_cold: Milliseconds with no passage known.
        ms_warm: Milliseconds with every passage known.
    """

    evidence_recall: float | None
    chain_rate: float | None
    answer_survival: float | None
    answer_coverage: float | None
    dangling_rate: float | None
    kept_share: float
    tokens_kept: float
    nothing: float | None
    answerable: float | None
    ms_cold: float
    ms_warm: float


def outcome(record: Record, kept: Kept) -> Outcome:
    """What is left of a record."""
    held = [is_kept(record, kept.spans, span) for span in record.gold]
    return Outcome(
        evidence_recall=fmean(held) if held else None,
        chain_rate=float(all(held)) if held else None,
        answer_survival=survival(record, kept.text),
        answer_coverage=coverage(record, kept.text),
        dangling_rate=kept.dangling,
        kept_share=kept.tokens / kept.before if kept.before else 1.0,
        tokens_kept=kept.tokens,
        nothing=kept.nothing,
        answerable=None if record.answerable is None else float(record.answerable),
        ms_cold=kept.ms_cold,
        ms_warm=kept.ms_warm,
    )


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """The mean of one record's outcomes under several seeds."""

    def of(name: str) -> float | None:
        values = [getattr(o, name) for o in outcomes]
        return None if values[0] is None else fmean(values)

    return Outcome(**{name: of(name) for name in Outcome.__slots__})  # type: ignore[arg-type]


def is_kept(record: Record, spans: Mapping[int, Sequence[tuple[int, int]]], gold: GoldSpan) -> bool:
    """Whether every visible character of a gold span is in a kept span."""
    passage, start, end = gold
    text = record.passages[passage].text
    covered = {i for a, b in spans.get(passage, ()) for i in range(max(a, start), min(b, end))}
    return all(i in covered or text[i].isspace() for i in range(start, end))


def survival(record: Record, text: str) -> float | None:
    """1 if an answer string is in the text, else 0; None if the source lacks it as well."""
    whole = _plain(_source(record))
    present = [a for a in map(_plain, record.answers) if _stands_in(a, whole)]
    if not present:
        return None
    plain = _plain(text)
    return float(any(_stands_in(answer, plain) for answer in present))


def coverage(record: Record, text: str) -> float | None:
    """Share of the reference's words, of those in the source, that are in the text.

    Words of the question do not count: any context about its subject holds them. None if there is
    no reference, or the source holds none of its words.
    """
    wanted = {term for term in terms(record.reference) if len(term) >= MIN_TERM}
    wanted = (wanted - set(terms(record.question))) & set(terms(_source(record)))
    return len(wanted & set(terms(text))) / len(wanted) if wanted else None


def _source(record: Record) -> str:
    return "\n".join(f"{p.title}\n{p.text}" for p in record.passages)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _stands_in(answer: str, text: str) -> bool:
    if not answer or answer in NOT_IN_THE_TEXT:
        return False
    # Word edges where the answer has them, so that "308" is not found in "1308".
    left = r"(?<!\w)" if answer[0].isascii() and answer[0].isalnum() else ""
    right = r"(?!\w)" if answer[-1].isascii() and answer[-1].isalnum() else ""
    return re.search(left + re.escape(answer) + right, text) is not None
