from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.passage import Passage
from foveate.blocks.segment import segment
from foveate.rag.render import ELISION, Style, excerpt, render


@given(st.text(), st.data())
def test_an_excerpt_is_its_kept_spans_verbatim_in_order(text: str, data: st.DataObject) -> None:
    spans = [(u.start, u.end) for u in segment(text) if data.draw(st.booleans())]
    shown, at = excerpt(text, spans), 0
    for start, end in spans:
        piece = text[start:end].rstrip()
        at = shown.index(piece, at) + len(piece)


@given(st.text())
def test_all_spans_give_the_text_unchanged(text: str) -> None:
    assert excerpt(text, [(u.start, u.end) for u in segment(text)]) == text


def test_a_gap_is_marked_where_it_is_and_touching_spans_are_not() -> None:
    assert excerpt("One. Two. Three. Four.", [(0, 5), (5, 10), (17, 22)]) == "One. Two. … Four."
    assert excerpt("a\nb\nc\n", [(0, 2), (4, 6)]) == "a\n…\nc\n"
    assert excerpt("Oneandtwo", [(0, 3), (6, 9)]) == "One … two"


def test_no_mark_stands_at_the_edges_of_a_passage() -> None:
    assert ELISION not in excerpt("One. Two. Three.", [(5, 10)])


def test_numbers_follow_the_callers_list_whatever_the_order() -> None:
    passages = [Passage("A.", title="First"), Passage("B."), Passage("C.", title="Third")]
    text = render(passages, {0: [(0, 2)], 2: [(0, 2)]}, [2, 0], Style(numbered=True))
    assert text == "[3] Third\nC.\n\n[1] First\nA."


def test_titles_can_be_left_out() -> None:
    assert render([Passage("A.", title="T")], {0: [(0, 2)]}, [0], Style(titles=False)) == "A."
