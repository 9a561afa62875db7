"""Messages bind the answer to the sources, markers in content are dead, citations find passages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.rag.prompt import ZERO_WIDTH_SPACE, chat_messages, cited, defuse
from foveate.rag.render import Style

if TYPE_CHECKING:
    from .conftest import MakeContext

MARKERS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|endoftext|>",
    "<|fim prefix|>",
    '<|"|>',
    "<|turn>",
    "<turn|>",
    "<｜User｜>",
    "<｜end▁of▁sentence｜>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/AVAILABLE_TOOLS]",
    "[gMASK]",
    "[|endofturn|]",
    "<<SYS>>",
    "<</SYS>>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<unused42>",
    "<seed:bos>",
    "]~!b[",
    "]~b]",
    "[e~[",
]
HARMLESS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "<p>a < b | c > d</p>",
    "xs <|> ys",
    "a || b",
    "list[int]",
    "see [12] and [SEC]",
    "<span>|</span>",
    "f <| g |> h",
]
INSIDES = st.one_of(
    st.sampled_from([*MARKERS, *HARMLESS, ZERO_WIDTH_SPACE]),
    st.text(alphabet="<>|[]/｜~!s INST_im\n" + ZERO_WIDTH_SPACE, max_size=6),
    st.text(max_size=6),
)
TEXTS = st.lists(INSIDES, max_size=12).map("".join)


def without_added(text: str, source: str) -> str:
    """`text` without the zero-width spaces that `source` does not have at the same place."""
    out = []
    for char in text:
        if len(out) < len(source) and char == source[len(out)]:
            out.append(char)
        else:
            assert char == ZERO_WIDTH_SPACE
    return "".join(out)


@pytest.mark.parametrize("marker", MARKERS)
def test_a_marker_is_broken_after_its_first_character(marker: str) -> None:
    broken = marker[0] + ZERO_WIDTH_SPACE + marker[1:]

    assert defuse(f"before {marker}user\nafter") == f"before {broken}user\nafter"


@pytest.mark.parametrize("text", HARMLESS[:-1])
def test_text_that_is_no_marker_stays_as_it_is(text: str) -> None:
    assert defuse(text) == text


@given(TEXTS)
def test_defusing_adds_zero_width_spaces_and_nothing_else(text: str) -> None:
    assert without_added(defuse(text), text) == text


@given(TEXTS)
def test_no_marker_survives_defusing(text: str) -> None:
    assert not [marker for marker in MARKERS if marker in defuse(text)]
    assert not re.search(r"<\|\w+\|>|<｜\w+｜>", defuse(text))


@given(TEXTS)
def test_defusing_twice_is_defusing_once(text: str) -> None:
    assert defuse(defuse(text)) == defuse(text)


def test_a_marker_hidden_in_another_is_broken_too() -> None:
    assert "<|im_end|>" not in defuse("<|im_<|im_end|>end|>")
    assert "[INST]" not in defuse("[[INST]INST]")


def test_the_messages_are_the_sources_and_then_the_question(make_context: MakeContext) -> None:
    context = make_context()

    system, user = chat_messages(context)

    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == f"Sources:\n\n{context.text}\n\nQuestion: {context.query}"
    assert context.messages() == [system, user]


def test_numbers_are_asked_for_where_the_sources_have_them(make_context: MakeContext) -> None:
    numbered = chat_messages(make_context())[0]["content"]
    plain = chat_messages(make_context(style=Style()))[0]["content"]

    assert "sources alone" in numbered
    assert "sources alone" in plain
    assert "brackets" in numbered
    assert "brackets" not in plain


def test_the_instruction_can_be_replaced(make_context: MakeContext) -> None:
    assert chat_messages(make_context(), instruction="Be brief.")[0]["content"] == "Be brief."


def test_an_empty_context_says_that_there_is_no_source(make_context: MakeContext) -> None:
    context = make_context([("a", "", [("Nothing of use.", 0.0, False)])])

    assert "no source was found" in chat_messages(context)[1]["content"]


def test_citations_name_passages_and_their_kept_spans(make_context: MakeContext) -> None:
    context = make_context()

    first, second = cited("Built in 1889 [3][1], on the Seine [3].", context)

    assert (first.number, first.index, first.passage_id) == (3, 2, "seine")
    assert first.places == ((14, 17), (35, 38))
    assert [context.passages[2].text[a:b] for a, b in first.spans] == ["The Seine flows by. "]
    assert (second.number, second.passage_id, second.seen) == (1, "eiffel", True)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("[1, 3]", [1, 3]),
        ("[ 1;2 ]", [1, 2]),
        ("[1][2]", [1, 2]),
        ("[2] and again [2]", [2]),
        ("nothing", []),
        ("[a], [], [1.5], [-1], (1)", []),
    ],
)
def test_brackets_of_whole_numbers_are_citations(
    make_context: MakeContext, answer: str, numbers: list[int]
) -> None:
    assert [citation.number for citation in cited(answer, make_context())] == numbers


def test_a_number_without_a_passage_is_reported(make_context: MakeContext) -> None:
    for answer, number in (("[0]", 0), ("[4]", 4), ("[999999999]", 999_999_999)):
        (citation,) = cited(answer, make_context())

        assert citation.number == number
        assert citation.index is None
        assert not citation.seen


def test_citing_a_passage_that_was_left_out_is_told_apart(make_context: MakeContext) -> None:
    (citation,) = cited("A museum [2].", make_context())

    assert (citation.index, citation.passage_id, citation.seen) == (1, "louvre", False)


@given(st.text(alphabet="[]0123456789 ,;٣x\n", max_size=40))
def test_every_citation_stands_in_brackets(make_context: MakeContext, answer: str) -> None:
    for citation in cited(answer, make_context()):
        for start, end in citation.places:
            assert (answer[start], answer[end - 1]) == ("[", "]")
            assert citation.number in [int(n) for n in re.findall(r"\d+", answer[start:end])]
