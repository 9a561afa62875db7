from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage

TEXTS = st.lists(
    st.lists(st.sampled_from(["Salt came.", "Rope.", "No one saw it.", "\n\n", "- a mast"]))
    .map(" ".join)
    .map(Passage),
    min_size=1,
    max_size=4,
)


@given(TEXTS, st.data())
def test_a_span_touches_the_units_that_share_a_character_with_it(
    passages: list[Passage], data: st.DataObject
) -> None:
    candidates = Candidates("why?", passages)
    index = data.draw(st.integers(0, len(passages) - 1))
    start = data.draw(st.integers(0, 40))
    end = data.draw(st.none() | st.integers(start + 1, 60))
    touched = [
        unit
        for unit, (owner, span) in enumerate(zip(candidates.owners, candidates.units, strict=True))
        if owner == index and span.end > start and (end is None or span.start < end)
    ]
    assert list(candidates.units_in(index, start, end)) == touched
