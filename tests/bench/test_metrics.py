from __future__ import annotations

import pytest

pytest.importorskip("bench", reason="benchmarks run from the repository's root")
from bench.data import Record
from bench.metrics import Outcome, coverage, is_kept, mean, outcome, survival
from bench.stats import auc, auc_interval, interval, paired
from bench.systems import Kept
from foveate import Passage

TEXT = "It took 3 days. Then it rained. The pump had a broken valve."


def record(
    *answers: str, reference: str = "", gold: tuple[tuple[int, int, int], ...] = ()
) -> Record:
    return Record("How long?", (Passage(TEXT, "a", "Pump"),), gold, answers, reference=reference)


def kept(text: str, *spans: tuple[int, int]) -> Kept:
    return Kept(text, {0: spans} if spans else {}, 5, 20, 2.0, 1.0, nothing=0.25)


def test_what_is_left_of_a_record_worked_by_hand() -> None:
    one, two = (0, 0, 15), (0, 16, 31)
    found = outcome(record("3 days", gold=(one, two)), kept(TEXT[:15], (0, 15)))
    assert (found.evidence_recall, found.chain_rate, found.answer_survival) == (0.5, 0.0, 1.0)
    assert (found.kept_share, found.tokens_kept) == (0.25, 5)
    assert outcome(record("3 days"), kept("")).evidence_recall is None


def test_evidence_counts_when_it_is_whole_and_blanks_are_no_evidence() -> None:
    r = record()
    assert is_kept(r, {0: [(0, 15)]}, (0, 0, 16))
    assert is_kept(r, {0: [(0, 7), (7, 15)]}, (0, 0, 15))
    assert not is_kept(r, {0: [(0, 14)]}, (0, 0, 15))
    assert not is_kept(r, {}, (0, 0, 15))


def test_an_answer_survives_as_a_whole_word_only() -> None:
    assert survival(record("3 days"), "in the end it took 3\n DAYS.") == 1.0
    assert survival(record("3 days"), "it took 13 days") == 0.0


def test_what_the_source_lacks_or_what_is_a_verdict_says_nothing_about_survival() -> None:
    assert survival(record("yes"), "yes") is None
    assert survival(record("nine weeks"), "nine weeks") is None


def test_coverage_counts_the_words_that_were_there_to_keep() -> None:
    # Of the reference, "broken", "valve" and "pump" stand in the source; "leak" does not.
    r = record(reference="The leak came of a broken valve in the pump.")
    assert coverage(r, TEXT) == 1.0
    assert coverage(r, "a broken pump") == pytest.approx(2 / 3)
    assert coverage(record(), TEXT) is None


def test_the_mean_of_seeds_keeps_what_is_unknown_unknown() -> None:
    low = Outcome(0.0, 0.0, None, None, None, 0.2, 10, 0.0, 1.0, 1.0, 1.0)
    high = Outcome(1.0, 1.0, None, None, None, 0.4, 20, 0.0, 1.0, 3.0, 1.0)
    both = mean([low, high])
    assert (both.evidence_recall, both.answer_survival, both.ms_cold) == (0.5, None, 2.0)


def test_the_interval_holds_the_mean_and_narrows_with_more_records() -> None:
    low, high = interval([0.0, 1.0] * 10)
    assert low < 0.5 < high
    lower, higher = interval([0.0, 1.0] * 1000)
    assert higher - lower < (high - low) / 3
    assert interval([0.0, 1.0, 1.0], seed=4) == interval([0.0, 1.0, 1.0], seed=4)


def test_a_paired_difference_leaves_out_what_one_side_lacks() -> None:
    found = paired([1.0, 0.5, None, 1.0], [0.5, 0.0, 1.0, None])
    assert found == {"mean": 0.5, "ci": [0.5, 0.5], "n": 2}
    assert paired([None], [1.0]) is None


def test_auc_worked_by_hand() -> None:
    # Of four pairs of a positive and a negative, three are ordered rightly and one is tied.
    assert auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == 0.875
    assert auc([0.9, 0.4], [True, True]) is None
    low, high = auc_interval([0.9, 0.4, 0.4, 0.1] * 5, [True, True, False, False] * 5)
    assert 0.5 < low < 0.875 < high <= 1.0
