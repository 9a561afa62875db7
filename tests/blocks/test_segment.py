from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foveate.blocks import segment as module
from foveate.blocks.passage import Unit
from foveate.blocks.segment import MAX_UNIT_TOKENS, estimate_tokens, segment
from foveate.blocks.segment.unit_cache import UnitCache

# Every plane, lone surrogates and unassigned code points included.
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=400)
PIECES = [
    *"aA1.!?,;:'\"`“”()[]{}|#>-*\n\r\t \u3000。！？「」؟।",
    *"\u0301\u200d😀é你กअ\0\x0b\u2028\ud800\udfff",
    *("Dr. ", "e.g. ", "1. ", "a) ", "```\n", "~~~", "\n\n", "\r\n", "- ", "| a | b |\n"),
    *("|---|---|\n", "    x = 1\n", "def f():\n", ">>> a\n", " |  ", "> ", "# H\n", "===\n"),
    *("Hello world. ", "word ", "key: value\n", "a\tb\n", '"""', "foo(bar)\n", "🇫🇷", "👨‍👩‍👧"),
    *("ก" * 30, "x" * 50, "https://a.b/c?d=1", '{"a":1}', "+---+---+\n", "2024-01-02 10:00 ", "\f"),
]
STRUCTURED_TEXT = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)


def texts(passage: str, language: str | None = None) -> list[str]:
    """The visible text of each unit."""
    return [passage[u.start : u.end].strip() for u in segment(passage, language=language)]


def kinds(passage: str) -> list[str]:
    return [unit.kind for unit in segment(passage)]


def check_units(text: str, units: tuple[Unit, ...]) -> None:
    assert "".join(text[u.start : u.end] for u in units) == text
    edges = [0, *(u.end for u in units)]
    assert [u.start for u in units] == edges[:-1]
    for number, unit in enumerate(units):
        piece = text[unit.start : unit.end]
        assert piece.strip() or not text.strip(), "a unit is white space alone"
        assert number == 0 or not piece[0].isspace(), "white space leads a unit"
        assert estimate_tokens(piece.strip()) <= MAX_UNIT_TOKENS + 1
        assert all(0 <= index < number for index in unit.requires)


@given(ANY_TEXT)
@example("")
@example("\n")
@example("\ud800")
@example("a\r\n\r\nb")
@settings(max_examples=200, deadline=None)
def test_units_tile_any_text_whatever_it_holds(text: str) -> None:
    check_units(text, segment(text))


@given(STRUCTURED_TEXT)
@settings(max_examples=300, deadline=None)
def test_units_tile_text_of_tangled_structure(text: str) -> None:
    check_units(text, segment(text))


@given(st.text(alphabet=st.characters(max_codepoint=127), min_size=300, max_size=900))
@settings(max_examples=50, deadline=None)
def test_no_unit_of_ascii_text_is_longer_than_the_limit(text: str) -> None:
    assert all(estimate_tokens(unit) <= MAX_UNIT_TOKENS for unit in texts(text))


def test_the_empty_text_has_no_units_and_a_blank_one_has_one() -> None:
    assert segment("") == ()
    assert segment(" \n\t ") == (Unit(0, 4),)
    assert segment("x") == (Unit(0, 1),)


def test_white_space_belongs_to_the_unit_before_it() -> None:
    text = "  One.  Two.\n\n\n Three. "
    assert [text[u.start : u.end] for u in segment(text)] == ["  One.  ", "Two.\n\n\n ", "Three. "]


def test_a_text_seen_again_is_not_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Seen before. Not cut again."
    first = segment(text)

    def refuse(*_: object) -> None:
        raise AssertionError("cut again")

    monkeypatch.setattr(module, "_segment", refuse)
    assert segment(text) is first


def test_the_cache_forgets_the_oldest_beyond_its_bound_and_keeps_no_giants() -> None:
    cache, unit = UnitCache(max_chars=1_000), (Unit(0, 10),)
    for text in "abcdefghi":  # nine texts of 10 characters and one unit: 990
        cache.put(text * 10, None, unit)
    assert cache.get("a" * 10, None) is unit
    cache.put("j" * 10, None, unit)
    assert cache.get("b" * 10, None) is None, "the least recently used goes first"
    assert cache.get("a" * 10, None) is unit
    cache.put("x" * 500, None, unit)
    assert cache.get("x" * 500, None) is None
    assert len(cache) == 9


def test_a_panic_of_the_sentence_splitter_costs_sentences_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PanicException(BaseException):
        pass

    def panic(*_: object) -> None:
        raise PanicException

    monkeypatch.setattr("sentencex.get_sentence_boundaries", panic)
    text = "Panic in one. " * 100
    check_units(text, module._segment(text, "en"))


@pytest.mark.parametrize("language", ["de", "kk", "ko"])
def test_wide_white_space_behind_a_full_stop_does_not_panic(
    language: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "A\u3000.B\u3000.\u3000. U.S. \u3000. The end."
    check_units(text, module._segment(text, language))
    assert "panicked" not in capfd.readouterr().err


# Sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Dr. Smith met J. K. Rowling at 3 p.m. on Fig. 2. He left.",
            ["Dr. Smith met J. K. Rowling at 3 p.m. on Fig. 2.", "He left."],
        ),
        ("It was late! Was it? Yes.", ["It was late!", "Was it?", "Yes."]),
        ("See www.Example.Org. It works.", ["See www.Example.Org.", "It works."]),
        ("Use json.decoder.JSONDecoder here.", ["Use json.decoder.JSONDecoder here."]),
        ("It fell, but, alas! nobody saw it.", ["It fell, but, alas! nobody saw it."]),
        ("She said so. “Fine.” He left.", ["She said so.", "“Fine.”", "He left."]),
        ("Step 1. Open the lid. Step 2. Close it.", ["Step 1. Open the lid.", "Step 2. Close it."]),
        ("1. The first item 2. The second item", ["1. The first item", "2. The second item"]),
        ("a\ud800b. Then\udfff c.", ["a\ud800b.", "Then\udfff c."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    assert texts(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("你好。世界很大！1月下雪吗？", ["你好。", "世界很大！", "1月下雪吗？"]),
        ("これは本です。それは何ですか？", ["これは本です。", "それは何ですか？"]),
        ("यह एक घर है। वह बड़ा है।", ["यह एक घर है।", "वह बड़ा है।"]),
        ("هل وصلت؟ نعم. ثم غادرت.", ["هل وصلت؟", "نعم.", "ثم غادرت."]),
        ("Он живёт в г. Москва. Она тоже.", ["Он живёт в г. Москва.", "Она тоже."]),
        (
            "Das ist am 3. Mai und nicht später. Gut.",
            ["Das ist am 3. Mai und nicht später.", "Gut."],
        ),
    ],
)
def test_the_language_is_guessed_from_the_letters(text: str, sentences: list[str]) -> None:
    assert texts(text) == sentences


def test_a_given_language_chooses_the_rules() -> None:
    text = "Er kam am 3. Mai."
    assert texts(text, language="de") == [text]
    assert len(texts(text, language="en")) == 2


def test_hard_wrapped_lines_are_joined() -> None:
    text = (
        "The committee that met in\nParis last year could not\nagree on a date. It will\n"
        "meet again in spring."
    )
    assert texts(text) == [
        "The committee that met in\nParis last year could not\nagree on a date.",
        "It will\nmeet again in spring.",
    ]


def test_line_breaks_that_are_meant_part_units() -> None:
    assert texts("Name: Ada\nBorn: 1815\nField: mathematics") == [
        "Name: Ada",
        "Born: 1815",
        "Field: mathematics",
    ]
    log = "2024-05-01 10:00:00 INFO up\n2024-05-01 10:00:07 ERROR down\n  at main.py:3"
    assert texts(log) == ["2024-05-01 10:00:00 INFO up", log.split("\n", 1)[1]]
    assert (
        len(texts("Privacy Policy\n" + "A long line of running text goes on and on here. " * 4)) > 4
    )


def test_a_lone_mark_is_joined_to_its_neighbour() -> None:
    assert texts("First line.\n\n”\n\nSecond line.") == ["First line.\n\n”", "Second line."]
    assert texts("Dr.\n\nSmith came.") == ["Dr.\n\nSmith came."]
    assert texts("Read this first.\n\n3.") == ["Read this first.\n\n3."]


# Structure

TABLE = (
    "|  |  | Years Ended September 30, |  |\n|---|---|---|---|\n|  | 2019 | 2018 | 2017 |\n"
    "| Fixed Price | $ 1,452.4 | $ 1,146.2 | $ 1,036.9 |\n| Other | 44.1 | 56.7 | 70.8 |"
)


def test_every_row_of_a_table_requires_its_header_of_several_rows() -> None:
    units = segment(TABLE)
    assert [u.kind for u in units] == ["table_row"] * 3
    assert texts(TABLE)[0].endswith("| 2017 |")
    assert [u.requires for u in units] == [(), (0,), (0,)]


def test_the_header_above_the_delimiter_may_have_several_rows() -> None:
    table = "| a | b |\n| c | d |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    assert [u.requires for u in segment(table)] == [(), (0,), (0,)]


def test_a_table_between_paragraphs_refers_to_its_own_header() -> None:
    units = segment(f"Sales rose. Costs fell.\n\n{TABLE}\n\nThat is all.")
    assert [u.requires for u in units] == [(), (), (), (2,), (2,), ()]
    assert units[-1].kind == "sentence"


@pytest.mark.parametrize(
    "table",
    [
        "Name\tAge\nAnn\t31\nBob\t23",
        "| Name | Age |\n| Ann | 31 |\n| Bob | 23 |",
        "Name | Age\n--- | ---\nAnn | 31\nBob | 23",
        "+---+---+\n| Name | Age |\n+===+===+\n| Ann | 31 |\n+---+---+\n| Bob | 23 |",
    ],
)
def test_tables_are_known_in_other_dress(table: str) -> None:
    assert [(u.kind, u.requires) for u in segment(table)] == [
        ("table_row", ()),
        ("table_row", (0,)),
        ("table_row", (0,)),
    ]


def test_a_long_row_is_cut_between_cells_and_later_parts_require_its_first() -> None:
    row = "| Total | " + " | ".join(f"{n},{n}00.5" for n in range(10, 40)) + " |"
    text = "| a | b |\n|---|---|\n" + row
    units = segment(text)
    assert [u.requires for u in units[:3]] == [(), (0,), (0, 1)]
    assert all(text[u.start] == "|" for u in units)


def test_a_fenced_block_is_cut_into_statements_that_require_its_fence() -> None:
    body = "\n\n".join(f"def f{n}(x):\n    y = x + {n}\n\n    return y * {n}" for n in range(4))
    text = f"Look:\n\n```python\n{body}\n```\n\nDone."
    units = segment(text)
    assert [u.kind for u in units] == ["sentence", *["code"] * 5, "sentence"]
    assert texts(text)[1] == "```python"
    assert [u.requires for u in units] == [(), (), *[(1,)] * 4, ()]
    assert all(piece.startswith("def f") for piece in texts(text)[2:6])
    assert texts(text)[5].endswith("```")


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_a_short_fenced_block_is_one_unit_even_if_it_never_closes(fence: str) -> None:
    assert texts(f"{fence}\nx = 1. Y\n\nz = 2") == [f"{fence}\nx = 1. Y\n\nz = 2"]
    assert kinds(f"Hi there.\n{fence}\na\n{fence}\nBye now.") == ["sentence", "code", "sentence"]


def test_indented_code_is_code_and_indented_prose_is_prose() -> None:
    text = "Run this:\n\n    $ make all && make test\n    $ ls -l\n\nIt prints a list."
    assert kinds(text) == ["sentence", "code", "sentence"]
    text = "It says:\n\n    The quick brown fox jumps over\n    the lazy dog. It does so daily.\n"
    assert kinds(text) == ["sentence"] * 3


def test_a_python_function_is_code_with_its_docstring() -> None:
    docstring = '"""Compute the area. It is exact.\n\n    Give metres.\n    """'
    text = f"def area(r):\n    {docstring}\n    return 3 * r"
    assert kinds(text) == ["code"]


PYDOC = """\
FUNCTIONS
    dumps(obj, *, indent=None, **kw)
        Serialize ``obj`` to a string. It
        returns the string.

        >>> dumps(1)
        '1'

    class Decoder(builtins.object)
     |  Decoder(*, strict=True)
     |
     |  Reads JSON, as it is found on the wide web, into objects. It
     |  is fast.
"""


def test_pydoc_output_keeps_signatures_sentences_and_examples_apart() -> None:
    assert list(zip(kinds(PYDOC), texts(PYDOC), strict=True)) == [
        ("heading", "FUNCTIONS"),
        ("code", "dumps(obj, *, indent=None, **kw)"),
        ("sentence", "Serialize ``obj`` to a string."),
        ("sentence", "It\n        returns the string."),
        ("code", ">>> dumps(1)\n        '1'"),
        ("code", "class Decoder(builtins.object)"),
        ("code", "|  Decoder(*, strict=True)\n     |"),
        ("sentence", "|  Reads JSON, as it is found on the wide web, into objects."),
        ("sentence", "It\n     |  is fast."),
    ]


@pytest.mark.parametrize("mark", ["-", "*", "+", "•", "{n}.", "{n})", "({n})"])
def test_list_items_are_units_with_their_continuation_lines(mark: str) -> None:
    items = [f"{mark.format(n=n)} item number {n}\n  goes on here" for n in (1, 2, 3)]
    text = "The list:\n" + "\n".join(items) + "\n\nAfter it."
    assert texts(text) == ["The list:", *items, "After it."]
    assert kinds(text) == ["sentence", *["list_item"] * 3, "sentence"]


def test_later_sentences_of_a_long_item_require_the_first() -> None:
    long = "- **strict** is a flag. " + "It decides how errors in the input are reported. " * 6
    units = segment("- short. Two.\n" + long)
    assert [u.kind for u in units] == ["list_item"] * len(units)
    assert [u.requires for u in units] == [(), (), *[(1,)] * 6]


@pytest.mark.parametrize(
    "heading", ["# A title", "A title\n=======", "A title\n-------", "A title", "2. A Title"]
)
def test_headings_are_known(heading: str) -> None:
    text = f"Before it, some text.\n\n{heading}\n\nAfter it, more text. And more."
    assert texts(text)[1] == heading
    assert kinds(text) == ["sentence", "heading", "sentence", "sentence"]


def test_a_lone_short_line_is_no_heading() -> None:
    assert kinds("A title") == ["sentence"]


# Length


def test_a_long_sentence_is_cut_at_clauses_into_balanced_pieces() -> None:
    text = ", ".join(["while the rain kept falling on the roof of the old barn"] * 14) + "."
    pieces = texts(text)
    sizes = [estimate_tokens(piece) for piece in pieces]
    assert all(piece.endswith((",", ".")) for piece in pieces)
    assert max(sizes) <= MAX_UNIT_TOKENS
    assert min(sizes) > max(sizes) / 2


def test_minified_json_is_cut_behind_its_commas_and_brackets() -> None:
    text = json.dumps([{"id": n, "name": f"user{n}"} for n in range(60)], separators=(",", ":"))
    pieces = texts(text)
    assert len(pieces) > 5
    assert all(piece[-1] in ",}]" for piece in pieces)


def test_thai_is_cut_at_its_spaces_and_not_into_crumbs() -> None:
    clause = "ทีมรับของแพนเธอร์สถอดใจที่คะแนน"
    pieces = texts(" ".join([clause] * 12))
    assert all(set(piece.split()) == {clause} for piece in pieces)
    assert min(map(len, pieces)) >= len(clause)


def test_an_ordinary_chinese_sentence_stays_whole() -> None:
    text = (
        "黑豹队的防守只丢了三百零八分，在联赛中排名第六，同时也以二十四次拦截领先国家橄榄球联盟。"
    )
    assert texts(text + text) == [text, text]


@pytest.mark.parametrize("seen_as_one", ["e\u0301", "👨‍👩‍👧", "👍🏽", "🇫🇷", "กี่", "क्षि"])
def test_a_cut_never_tears_what_a_reader_sees_as_one(seen_as_one: str) -> None:
    pieces = texts(seen_as_one * 400)
    assert len(pieces) > 1
    assert all(len(piece) % len(seen_as_one) == 0 for piece in pieces)


def test_a_heap_of_accents_on_one_letter_is_still_bounded() -> None:
    text = "a" + "\u0301" * 5000
    check_units(text, segment(text))


@pytest.mark.parametrize(
    "pattern",
    [
        *"a-|\n`'\"(#>=~ \u0301\ud800",
        "- ",
        "| ",
        "“. ",
        "```\n",
        "x: y\n",
        "no! so ",
        "A. ",
        "a\n\n",
    ],
)
def test_time_is_linear_in_the_length_for_hostile_text(pattern: str) -> None:
    def seconds(characters: int) -> float:
        text = (pattern * characters)[:characters]
        begin = time.process_time()
        check = module._segment(text, None)
        assert check[-1].end == characters
        return time.process_time() - begin

    seconds(1_000)
    # Eight times the text: quadratic time would take 64 times as long.
    assert min(seconds(80_000) for _ in range(3)) < 40 * max(seconds(10_000), 0.02)


# Estimate

# Tokens of each text in a vocabulary of 49k entries (SmolLM2's).
MEASURED = [
    ("The committee that met in Paris last year could not agree on a date for the vote.", 18),
    ("Mitochondria play a role in remodelling leaves during programmed cell death.", 15),
    ("def area(radius: float) -> float:\n    return math.pi * radius ** 2\n", 21),
    ('{"id":7,"name":"user7","active":true,"tags":["a","b"]}', 22),
    ("1452.4 1146.2 1036.9 44.1 56.7", 30),
    ("https://www.example.com/api/v2/page-74.html?utm_source=foo&id=e5a2", 33),
    ("| Fixed Price | $ 1,452.4 | $ 1,146.2 | $ 1,036.9 |", 34),
    ("ทีมรับของแพนเธอร์สถอดใจที่คะแนน 308", 64),
    ("黑豹队的防守只丢了308分，在联赛中排名第六。", 41),
    ("في عام 1900 حصل تسلا على براءتي اختراع.", 39),
    ("यह एक बड़ा घर है और वह छोटा है।", 39),
    ("Комитет не смог договориться о дате голосования.", 31),
    ("😀🎉🚀 👍🏽 🇫🇷", 21),
]


def test_the_estimate_of_nothing_is_nothing() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1


@pytest.mark.parametrize(("text", "tokens"), MEASURED)
def test_the_estimate_is_close_and_rather_high(text: str, tokens: int) -> None:
    assert 0.92 * tokens <= estimate_tokens(text) <= 1.35 * tokens


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_the_estimate_of_two_texts_is_about_that_of_both(left: str, right: str) -> None:
    together = estimate_tokens(left + right)
    assert abs(together - estimate_tokens(left) - estimate_tokens(right)) <= 4
