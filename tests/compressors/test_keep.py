from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import BudgetError, InputError, UnknownNameError
from foveate.blocks.passage import Passage
from foveate.compressors.keep import check, kept_units
from foveate.rag.engine import Engine, Options

TEXT = (
    "The pump is blue. Call INV-2041 before lunch. It was built on 3 May 2019. "
    'See https://pump.example/manual for more. The label says "do not open". '
    "Set max_flow first. Write to help@pump.example today. Nobody knows why."
)


def kept(*keep: object, text: str = TEXT) -> list[str]:
    candidates = Candidates("why?", [Passage(text)])
    return [candidates.texts[i].strip() for i in sorted(kept_units(candidates, keep))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("numbers", ["Call INV-2041 before lunch.", "It was built on 3 May 2019."]),
        ("dates", ["It was built on 3 May 2019."]),
        ("urls", ["See https://pump.example/manual for more."]),
        ("quotes", ['The label says "do not open".']),
        ("identifiers", ["Call INV-2041 before lunch.", "Set max_flow first."]),
        ("emails", ["Write to help@pump.example today."]),
        ("/Nobody/", ["Nobody knows why."]),
        (re.compile("BLUE", re.IGNORECASE), ["The pump is blue."]),
    ],
)
def test_each_kind_keeps_the_units_that_hold_it_and_no_others(
    name: object, units: list[str]
) -> None:
    assert kept(name) == units


def test_code_keeps_code_blocks_and_inline_code() -> None:
    text = "Prose here.\n\n```python\nx = 1\n```\n\nUse `run` now. More prose."
    units = kept("code", text=text)
    assert any("x = 1" in unit for unit in units)
    assert any("`run`" in unit for unit in units)
    assert "More prose." not in units


def test_a_match_over_two_units_keeps_both() -> None:
    assert kept(re.compile(r"blue\. Call")) == ["The pump is blue.", "Call INV-2041 before lunch."]


@given(
    st.lists(
        st.sampled_from(["Salt came.", "It cost 40 marks.", "No one saw it.", "In 1907 it sank."]),
        min_size=1,
        max_size=12,
    )
)
def test_every_number_of_the_input_is_in_the_context_or_nothing_is(sentences: list[str]) -> None:
    text = " ".join(sentences)
    options = Options(budget=0.6, tokenizer=lambda t: len(t.split()), keep=("numbers",))
    try:
        context = Engine(None, scorer="lexical").compress("Who saw it?", [text], options)
    except BudgetError as error:
        assert "keep: numbers" in str(error)  # noqa: PT017
        return
    assert re.findall(r"\d+", context.text) == re.findall(r"\d+", text)
    assert context.tokens_after <= context.limit


def test_the_context_says_why_a_unit_stays() -> None:
    options = Options(budget=0.5, tokenizer=lambda t: len(t.split()), keep=("emails",))
    context = Engine(None, scorer="lexical").compress("Which pump is blue?", [TEXT], options)
    reasons = {piece.reason for piece in context.kept if "@" in context.piece_text(piece)}
    assert reasons == {"keep: emails"}


@pytest.mark.parametrize("keep", ["numbers", 3, [4], ["/(/"]])
def test_what_is_no_list_of_names_or_patterns_is_refused(keep: object) -> None:
    with pytest.raises(InputError, match="keep"):
        check(keep)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match="numbers"):
        check(["figures"])
