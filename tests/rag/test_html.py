"""The HTML views are valid, inert and bounded, and show each decision with score and reason."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.rag.html import Cited, Section, Timings, fragment, page, report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .conftest import MakeContext, UnitRow

ATTACK = "<script>alert(1)</script>\"'&amp;<img src=x onerror=y></style></title>"
ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)
VOID = {"meta", "br", "img"}
TEXT = "sentence words and words"


class Document(HTMLParser):
    """A parsed document: its elements with attributes and text; raises if tags do not match."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[dict[str, Any]] = []
        self.elements: list[dict[str, Any]] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element["text"] += data

    def all(self, tag: str, of: str = "") -> list[dict[str, Any]]:
        return [
            element
            for element in self.elements
            if element["tag"] == tag and (not of or of in element.get("class", "").split())
        ]

    @property
    def text(self) -> str:
        return self.elements[0]["text"]


def without_styles(source: str) -> str:
    return re.sub("<style>.*?</style>", "", source, flags=re.DOTALL)


def test_kept_units_are_marked_by_score_and_dropped_ones_are_not(make_context: MakeContext) -> None:
    document = Document(fragment(make_context()))

    marks = [m for m in document.all("mark") if "title" in m]
    assert [(m["text"], m["style"]) for m in marks] == [
        ("The Eiffel Tower stands in Paris.", "--s:0.91"),
        ("Gustave Eiffel's company built it in 1889.", "--s:0.83"),
        ("The Seine flows by.", "--s:0.44"),
    ]
    dropped = [d["text"] for d in document.all("span", "fv-drop") if "title" in d]
    assert dropped == [
        "It was painted eighteen times.",
        "It is 777 km long.",
        "The Louvre is a museum.",
    ]


def test_score_and_reason_are_told_on_hover(make_context: MakeContext) -> None:
    document = Document(fragment(make_context()))

    titles = {e["text"]: e["title"] for e in document.elements if "title" in e}
    assert titles["The Seine flows by."] == (
        "score 0.44 · kept: relevant · 4 tokens · sentence · characters 0–20"
    )
    assert titles["It is 777 km long."].startswith(
        "score 0.20 · dropped: less relevant than what fits"
    )


def test_the_text_of_every_passage_stands_there_verbatim(make_context: MakeContext) -> None:
    rows = [
        (
            "a",
            "",
            [("  Two spaces.\n\n", 0.5, True), ("\tTab, and ", 0.1, False), ("end ", 0.2, True)],
        )
    ]
    context = make_context(rows)

    (body,) = Document(fragment(context)).all("div", "fv-text")

    assert body["text"] == context.passages[0].text


def test_the_counts_are_told(make_context: MakeContext) -> None:
    from dataclasses import replace

    context = replace(make_context(), tokens_before=3412, tokens_after=934, limit=1000)

    document = Document(fragment(context))

    (counts,) = document.all("div", "fv-count")
    assert counts["text"].startswith("3,412 → 934 (−73%)")
    assert "2 of 3 passages" in counts["text"]
    assert "3 of 6 units" in counts["text"]
    (meter,) = document.all("div", "fv-meter")
    assert meter["title"] == "934 of 3,412 tokens"


def test_every_passage_has_bars_for_its_score_and_its_kept_share(make_context: MakeContext) -> None:
    document = Document(fragment(make_context(order=[2, 0])))

    bars = [bar["text"] for bar in document.all("span", "fv-bar")]
    assert bars == ["score0.44", "kept44%", "score0.91", "kept72%", "score0.12", "kept0%"]


def test_the_order_is_drawn_before_and_after(make_context: MakeContext) -> None:
    source = fragment(make_context(order=[2, 0]))

    svg = ElementTree.fromstring(re.search("<svg.*?</svg>", source, re.DOTALL)[0])  # type: ignore[index]

    left = [t.text for t in svg.iter("text") if t.get("text-anchor") == "end"]
    right = [t.text for t in svg.iter("text") if t.get("text-anchor") != "end"]
    assert left == ["as retrieved", "1  Eiffel Tower", "2  louvre", "3  Seine"]
    heights = {t.text: int(t.get("y", "0")) for t in svg.iter("text") if t.text in right}
    assert heights["3  Seine"] < heights["1  Eiffel Tower"]
    assert "2  louvre" not in right
    assert len(list(svg.iter("path"))) == 2


def test_timings_fall_one_after_the_other(make_context: MakeContext) -> None:
    context = make_context(timings={"encode": 25.0, "read": 50.0, "total": 100.0})

    document = Document(fragment(context))

    bars = [i["style"] for i in document.all("i") if "--c" in i.get("style", "")]
    assert [bar.rpartition(";")[0] for bar in bars] == [
        "left:0%;width:25%",
        "left:25%;width:50%",
        "left:75%;width:25%",
    ]
    (fall,) = document.all("div", "fv-fall")
    assert re.sub(r"\s", " ", fall["text"]) == "encode25 msread50 msother25 mstotal100 ms"


def test_a_degraded_answer_says_why(make_context: MakeContext) -> None:
    degraded = Document(page(make_context(degraded_reason="ModelError: <gone>")))
    fine = Document(page(make_context()))

    (note,) = degraded.all("div", "fv-warn")
    assert "Degraded" in note["text"]
    assert "ModelError: <gone>" in note["text"]
    assert not fine.all("div", "fv-warn")


@pytest.mark.parametrize("view", [fragment, page])
def test_nothing_in_the_input_becomes_markup(make_context: MakeContext, view: Any) -> None:
    context = make_context(
        [(ATTACK, ATTACK, [(ATTACK, 0.9, True), (ATTACK, 0.1, False)]), (ATTACK + "2", "", [])],
        query=ATTACK,
        degraded_reason=ATTACK,
        timings={ATTACK: 1.0, "total": 1.0},
    )

    document = Document(view(context))

    assert not document.all("script")
    assert not document.all("img")
    assert not [a for e in document.elements for a in e if a.startswith("on")]
    assert sum(ATTACK in e["text"] for e in document.elements) > 5
    assert ATTACK in [e.get("title") for e in document.all("b")]


@given(text=ANY_TEXT, title=ANY_TEXT, id=ANY_TEXT, query=ANY_TEXT, answer=ANY_TEXT)
def test_any_input_gives_a_valid_document(
    make_context: MakeContext, text: str, title: str, id: str, query: str, answer: str
) -> None:
    context = make_context([(id, title, [(text, 0.5, True)])], query=query)

    source = report(title, [Section(query, [text, context, Cited(answer + "[1]", context)])])

    source.encode("utf-8")
    document = Document(source)
    assert not set("\x00\x1b\x9b\ufffe") & set(source)
    for svg in re.findall("<svg.*?</svg>", source, re.DOTALL):
        ElementTree.fromstring(svg)
    assert len(document.all("mark")) in (2, 3)


def test_a_page_is_whole_and_loads_nothing(make_context: MakeContext) -> None:
    source = page(make_context())

    assert source.startswith("<!doctype html>")
    document = Document(source.partition("\n")[2])
    policy = next(m for m in document.all("meta") if "http-equiv" in m)["content"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not [e for e in document.elements if {"src", "href"} & set(e)]
    assert not re.search(r"url\(|@import|https?:", source)
    assert "prefers-color-scheme:dark" in source
    assert document.all("title")[0]["text"] == "Foveate: Who built the Eiffel Tower?"


def test_styles_reach_nothing_outside_the_view(make_context: MakeContext) -> None:
    (style,) = re.findall("<style>(.*?)</style>", fragment(make_context()), re.DOTALL)

    rules = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@]+)\{", re.sub(r"@media[^{]*\{", "}", rules))
    assert len(selectors) > 50
    for selector in (part.strip() for group in selectors for part in group.split(",")):
        assert selector.startswith(".fv"), selector


def test_to_html_writes_what_it_returns(make_context: MakeContext, tmp_path: Path) -> None:
    context = make_context([("a", "", [("lone \ud800 surrogate", 0.5, True)])])
    path = tmp_path / "context.html"

    assert context.to_html(path) == path.read_text(encoding="utf-8")
    assert "lone \ufffd surrogate" in context.to_html()
    assert context._repr_html_() == fragment(context)


def many(count: int, kept: set[int], text: str = TEXT) -> list[UnitRow]:
    return [(f"{text} {i}. ", 0.5, i in kept) for i in range(count)]


def test_a_long_input_shows_kept_units_with_their_neighbours(make_context: MakeContext) -> None:
    context = make_context([("a", "", many(15_000, {5_000})), ("b", "", many(10, set()))])

    source = page(context)

    shown = re.findall(rf"{TEXT} (\d+)\.", source)
    assert shown == ["4999", "5000", "5001"]
    assert "4,999 units, 153,859 characters not shown" in source
    assert "only kept units and their neighbours are shown, up to 300,000 characters" in source
    assert len(source) < 40_000


@pytest.mark.parametrize(
    "units",
    [
        many(15_000, set(range(15_000))),
        [("x" * 3_000_000, 0.9, True)],
        [("x" * 3_000_000, 0.9, False), ("y", 0.9, True), ("z" * 3_000_000, 0.9, False)],
        [("a ", 0.9, True)] * 50_000,
    ],
)
def test_a_page_is_bounded_whatever_is_kept(
    make_context: MakeContext, units: list[UnitRow]
) -> None:
    source = page(make_context([("a", "", units)]))

    assert len(source) < 2_000_000
    assert "not shown" in source or "more characters" in source
    Document(source.partition("\n")[2])


def test_many_passages_are_listed_up_to_a_bound(make_context: MakeContext) -> None:
    rows = [(str(i), "", [("Text.", 0.5, i == 999)]) for i in range(1_000)]

    document = Document(fragment(make_context(rows)))

    assert len(document.all("li", "fv-card")) == 200
    assert document.all("li", "fv-card")[0]["text"].startswith("1000")
    assert "800 more passages, not listed." in document.text
    assert "980 more passages are not drawn" in document.text


def test_a_short_input_is_shown_whole(make_context: MakeContext) -> None:
    source = page(make_context([("a", "", many(1_000, {5}))]))

    assert len(re.findall(rf"{TEXT} \d+\.", source)) == 1_000
    assert "not shown" not in without_styles(source)


def test_empty_and_odd_values_can_be_shown(make_context: MakeContext) -> None:
    from dataclasses import replace
    from math import inf, nan

    context = make_context(
        [("a", "", []), ("b", "", [("Text.", nan, True)])],
        timings={"read": nan, "encode": -1.0, "total": inf},
    )
    odd = replace(context, tokens_before=0, tokens_after=0, nothing=nan, passage_scores=(nan, inf))

    document = Document(fragment(odd))

    assert "empty" in document.text
    assert not re.search(r"nan|inf", without_styles(fragment(odd)))
    Document(fragment(replace(context, timings={})))


def test_citations_are_links_to_the_passages_of_their_context(make_context: MakeContext) -> None:
    context = make_context()

    document = Document(
        report("Demo", [Section("Q", ["Some text.", context, Cited("So [1, 3].", context)])])
    )

    targets = {card["id"] for card in document.all("li", "fv-card")}
    links = document.all("a", "fv-cite")
    assert [link["text"] for link in links] == ["1", "3", "1", "3"]
    assert {link["href"].removeprefix("#") for link in links} <= targets
    assert "[1] Eiffel Tower" in [li["text"] for li in document.all("li")]
    assert document.all("div", "fv-prose")[1]["text"] == "So [1, 3]."


def test_citations_of_nothing_stand_out(make_context: MakeContext) -> None:
    context = make_context()

    document = Document(report("Demo", [Section("Q", [context, Cited("[2] [7]", context)])]))

    bad = document.all("span", "fv-bad")
    assert [b["title"] for b in bad[:2]] == ["this source was left out", "there is no such source"]
    assert not document.all("a", "fv-cite")


def test_several_contexts_have_anchors_of_their_own(make_context: MakeContext) -> None:
    first, second = make_context(), make_context()

    document = Document(report("Demo", [Section("A", [first, second, first])]))

    ids = [e["id"] for e in document.elements if "id" in e]
    assert len(ids) == len(set(ids)) == 6


def test_an_answer_without_its_context_on_the_page_has_no_dead_links(
    make_context: MakeContext,
) -> None:
    document = Document(report("Demo", [Section("", [Cited("So [1].", make_context())])]))

    assert not document.all("a")
    assert document.all("span", "fv-cite")[0]["title"] == "Eiffel Tower"


def test_cold_and_warm_runs_are_drawn_on_one_scale() -> None:
    runs = {
        "cold": {"encode": 75.0, "read": 25.0, "total": 100.0},
        "warm": {"read": 20.0, "total": 20.0},
    }

    document = Document(report("Demo", [Section("", [Timings(runs)])]))

    bars = document.all("span", "fv-stack")
    widths = [i["style"].partition(";")[0] for i in document.all("i") if "width" in i["style"]]
    assert len(bars) == 2
    assert widths == ["width:75%", "width:25%", "width:20%"]
    assert "warm is 5.0 times as fast as cold" in document.text
