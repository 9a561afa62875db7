from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage
from foveate.compressors.duplicates import LIKENESS, twins
from foveate.compressors.lexical import terms
from foveate.rag.engine import Engine, Options
from foveate.rag.prompt import cited

SAID = "The old salt bridge over the wide river was built by the monks of Teld."
LONG = (
    "{} was elected mayor after the long winter storm closed every harbour road and the council "
    "asked shop owners, teachers and sailors whom they trusted most to rebuild their broken town."
)
WORDS = ("salt", "bridge", "river", "monk", "wall", "gate", "tower", "road", "ship", "rope", "mast")


def of(*texts: str) -> dict[int, int]:
    return twins(Candidates("why?", [Passage(text) for text in texts]))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (SAID, SAID, True),
        (SAID, SAID.upper().capitalize().replace("teld", "Teld"), True),
        ("It cost 40 marks to cross the bridge.", "It cost 41 marks to cross the bridge.", False),
        (SAID, SAID.replace("was built", "was not built"), False),
        (SAID, SAID.replace("Teld", "Varn"), False),
        ("Yes, it is.", "Yes, it is.", False),
        (LONG.format("Alva"), LONG.format("Alva"), True),
        (LONG.format("Alva"), LONG.format("Bodil"), False),
        ("Now " + LONG.format("Alva"), "Now " + LONG.format("Bodil"), False),
    ],
)
def test_units_are_twins_when_they_say_the_same(first: str, second: str, same: bool) -> None:
    assert bool(of(first, second)) == same


@pytest.mark.parametrize(("other", "same"), [("Carroll County, Ohio", False), ("Kentucky", True)])
def test_what_is_said_under_another_title_is_said_of_something_else(other: str, same: bool) -> None:
    said = "Its county seat is the old town of Carrollton on the river."
    passages = [Passage(said, title="Kentucky"), Passage(said, title=other)]
    assert bool(twins(Candidates("why?", passages))) == same


def test_without_titles_what_leans_on_its_passage_is_nobodys_twin() -> None:
    said = "It is the county seat of Knox County in the far north."
    assert of(f"Edina is a town. {said}", f"Rockland is a port. {said}") == {}


def test_what_one_passage_repeats_alone_is_left_to_it() -> None:
    assert of(f"{SAID} {SAID}", "Nobody saw the storm that broke all the masts.") == {}


@given(
    st.lists(
        st.lists(st.sampled_from(WORDS), min_size=3, max_size=14).map(
            lambda words: f"The {' '.join(words)}."
        ),
        min_size=2,
        max_size=8,
    )
)
def test_twins_are_those_that_comparing_all_pairs_finds(texts: list[str]) -> None:
    found = of(*texts)
    sets = [frozenset(terms(text)) for text in texts]
    for i, a in enumerate(sets):
        alike = [
            j
            for j, b in enumerate(sets)
            if j != i and min(len(a), len(b)) >= 5 and len(a & b) >= LIKENESS * len(a | b)
        ]
        assert (i in found) <= bool(alike)
        if all(sets[j] == a for j in alike):  # with those that are equal there is no leader to miss
            assert (i in found) == bool(alike)


def test_a_sentence_of_many_passages_stands_once_and_names_them_all() -> None:
    passages = [f"{SAID} Lamp number {n} is lit." for n in range(4)]
    options = Options(budget=40, tokenizer=lambda text: len(text.split()))
    context = Engine(None, scorer="lexical").compress("Who built the bridge?", passages, options)
    assert context.text.count("salt bridge") == 1
    (kept,) = [p for p in context.kept if "salt bridge" in context.piece_text(p)]
    assert {kept.passage, *kept.also_in} == {0, 1, 2, 3}
    (citation,) = cited(f"The monks [{kept.passage + 1}].", context)
    assert {citation.index, *citation.also} == {0, 1, 2, 3}
    numbers = ", ".join(str(i + 1) for i in kept.also_in)
    assert f"= {numbers}</sup>" in context.to_html()
    dropped = {p.reason for p in context.dropped if "salt bridge" in context.piece_text(p)}
    assert len(dropped) == 1
    assert dropped.pop().startswith("the same as unit")
