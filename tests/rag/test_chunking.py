from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.blocks.segment import segment
from foveate.rag.chunking import chunk
from foveate.rag.loaders import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

GUIDE = """# Field guide

How to use this book.

## Herons

The grey heron stands in water. It waits for fish. It strikes fast.

## Owls

### Barn owl

The barn owl hunts at night. It hears mice under snow.
"""

MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# Head\n\n",
            "## Sub\n\n",
            "A short one. ",
            "Another sentence, longer than that. ",
            "- item\n",
            "\n\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
            "这是一个句子。",
            "word " * 40,
        ]
    ),
    max_size=40,
).map("".join)


def words(text: str) -> int:
    return len(text.split())


def spans(passages: Sequence[Passage]) -> list[tuple[int, int]]:
    return [(passage.metadata["start"], passage.metadata["end"]) for passage in passages]


def test_sections_become_passages_with_their_headings_in_the_title() -> None:
    found = chunk(
        Document(GUIDE, "guide.md", "Field guide", "docs/guide.md"), max_tokens=16, count=words
    )
    assert [(passage.id, passage.title) for passage in found] == [
        ("guide.md#0", "Field guide"),
        ("guide.md#1", "Field guide > Herons"),
        ("guide.md#2", "Field guide > Barn owl"),
    ]
    assert found[1].text.startswith("## Herons\n\nThe grey heron")
    assert found[2].text.startswith("## Owls\n\n### Barn owl")
    assert found[2].metadata == {
        "document": "guide.md",
        "source": "docs/guide.md",
        "start": GUIDE.index("## Owls"),
        "end": len(GUIDE) - 1,
    }


def test_a_long_section_overlaps_by_whole_units_and_keeps_its_title() -> None:
    text = "## Herons\n\n" + " ".join(f"Sentence number {n} is here." for n in range(12))
    found = chunk(Document(text, "h"), max_tokens=20, overlap=1, count=words)
    assert {passage.title for passage in found} == {"Herons"}
    for before, after in pairwise(found):
        last = before.text[before.text.rindex("Sentence") :]
        assert after.text.startswith(last)


def test_without_overlap_nothing_is_told_twice() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(12))
    found = chunk(Document(text), max_tokens=20, overlap=0, count=words)
    assert " ".join(passage.text for passage in found) == text


def test_an_overlap_never_reaches_into_another_section() -> None:
    found = chunk(Document(GUIDE, "g"), max_tokens=14, overlap=5, count=words)
    for passage in found:
        assert passage.text.count("\n#") == 0 or passage.text.startswith("#")


def test_a_document_that_is_whole_stays_whole() -> None:
    long = "One sentence. " * 500
    found = chunk(Document(long, "mine", "T", "f.jsonl", {"line": 3, "document": "f"}, whole=True))
    metadata = {"document": "f", "source": "f.jsonl", "line": 3}
    assert found == [Passage(long, "mine", "T", metadata)]


def test_passages_know_the_page_they_start_on() -> None:
    pages = ["First page, one sentence.", "Second page, another.", "Third page, the last."]
    starts = (0, len(pages[0]) + 1, len(pages[0]) + len(pages[1]) + 2)
    document = Document("\n".join(pages), "p", pages=starts, metadata={"author": "A"})
    found = chunk(document, max_tokens=4, overlap=0, count=words)
    assert [(passage.text, passage.metadata["page"]) for passage in found] == [
        (page, number) for number, page in enumerate(pages, start=1)
    ]
    assert found[0].metadata["author"] == "A"


@pytest.mark.parametrize("text", ["", " \n\n ", "\ufeff".strip("\ufeff")])
def test_nothing_gives_no_passages(text: str) -> None:
    assert chunk(Document(text)) == []


def test_a_heading_alone_is_a_passage() -> None:
    assert [passage.text for passage in chunk(Document("# Only a title\n"))] == ["# Only a title"]


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"overlap": -1}])
def test_options_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError):
        chunk(Document("text"), **options)  # type: ignore[arg-type]


@given(MARKDOWN, st.integers(1, 60), st.integers(0, 3))
def test_passages_are_slices_along_units_that_cover_the_text(
    text: str, max_tokens: int, overlap: int
) -> None:
    found = chunk(Document(text, "d"), max_tokens=max_tokens, overlap=overlap, count=words)
    units = segment(text)
    starts = {
        unit.start + len(s) - len(s.lstrip())
        for unit in units
        if (s := text[unit.start : unit.end])
    }
    ends = {unit.start + len(text[unit.start : unit.end].rstrip()) for unit in units}
    covered = [False] * len(text)
    for passage, (start, end) in zip(found, spans(found), strict=True):
        assert passage.text == text[start:end] != ""
        assert start in starts
        assert end in ends
        covered[start:end] = [True] * (end - start)
    assert all(done or letter.isspace() for done, letter in zip(covered, text, strict=True))
    assert spans(found) == sorted(set(spans(found)))
    assert [passage.id for passage in found] == [f"d#{n}" for n in range(len(found))]


@given(MARKDOWN, st.integers(1, 60), st.integers(0, 3))
def test_a_passage_is_over_the_limit_only_when_one_unit_is(
    text: str, max_tokens: int, overlap: int
) -> None:
    units = segment(text)
    for passage in chunk(Document(text), max_tokens=max_tokens, overlap=overlap, count=words):
        start, end = spans([passage])[0]
        inside = [unit for unit in units if unit.start < end and unit.end > start]
        told = [unit for unit in inside if unit.kind != "heading"]
        assert words(passage.text) <= max_tokens or len(told) <= 1


@given(MARKDOWN)
def test_the_same_document_gives_the_same_passages(text: str) -> None:
    document = Document(text, "d", "T")
    assert chunk(document) == chunk(document)
