from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foveate.blocks.errors import EmptyQueryError
from foveate.blocks.passage import Passage
from foveate.rag.index import Index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSAGES = {
    "iso": ("date.fromisoformat(date_string) parses a date in any ISO 8601 format.", "datetime"),
    "walk": ("os.walk() yields folders; it never follows links when running top-down.", "os"),
    "json": ("json.loads() raises JSONDecodeError. Parsing dates is up to you.", "json"),
    "cafe": ("Le café de l'hôtel est fermé.", "Notes"),
    "who": ("The Who are an English rock band.", "Music"),
    "tower_zh": ("埃菲尔铁塔位于法国巴黎,由古斯塔夫·埃菲尔设计。", "埃菲尔铁塔"),
    "wall_zh": ("长城是中国古代的伟大工程,使用Python编程的人也去参观。", "长城"),
    "tower_ja": ("東京タワーは高さ333メートルの電波塔です。", "東京タワー"),
    "bangkok_th": ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "กรุงเทพ"),
    "chiangmai_th": ("เชียงใหม่อยู่ทางภาคเหนือของประเทศไทย", "เชียงใหม่"),
    "seoul_ko": ("서울은 대한민국의 수도이다.", "서울"),
    "book_ru": ("Он читал книги о физике.", "Чтение"),
    "school_ar": ("ذهب الطلاب إلى المدارس.", "تعليم"),
    "wide": ("Ｆｕｌｌ　ｗｉｄｔｈ　ｌｅｔｔｅｒｓ", "Typography"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.create(tmp_path_factory.mktemp("lexical") / "index", embedder=None) as index:
        index.add([Passage(text, name, title) for name, (text, title) in PASSAGES.items()])
        yield index


def first(index: Index, query: str) -> str | None:
    found = index.retriever("lexical").retrieve(query, 5)
    return found[0].passage.id if found else None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How do I parse ISO 8601 dates?", "iso"),
        ("fromisoformat", "iso"),
        ("DATE STRING", "iso"),
        ("what follows a link while it runs", "walk"),
        ("music band", "who"),
        ("cafe hotel", "cafe"),
        ("CAFÉ HÔTEL", "cafe"),
        ("The Who", "who"),
        ("full width", "wide"),
        ("埃菲尔铁塔是谁设计的?", "tower_zh"),
        ("城", "wall_zh"),
        ("python", "wall_zh"),
        ("東京タワーの高さは?", "tower_ja"),
        ("เมืองหลวงของไทยคืออะไร", "bangkok_th"),
        ("ภาคเหนือ", "chiangmai_th"),
        ("대한민국 수도는 어디?", "seoul_ko"),
        ("книга по физике", "book_ru"),
        ("مدارس", "school_ar"),
    ],
)
def test_words_find_their_passage_in_any_script(index: Index, query: str, expected: str) -> None:
    assert first(index, query) == expected


def test_titles_count(index: Index) -> None:
    assert first(index, "Typography") == "wide"


def test_hits_come_best_first_with_their_ranks(index: Index) -> None:
    found = index.retriever("lexical").retrieve("parsing dates in ISO format")
    assert [hit.passage.id for hit in found] == ["iso", "json"]
    assert [hit.rank for hit in found] == [1, 2]
    assert found[0].score > found[1].score > 0


@pytest.mark.parametrize("query", ["?!... --- ()", "🙂", "«»", "+", "\x01 ."])
def test_punctuation_alone_finds_nothing_and_is_no_error(index: Index, query: str) -> None:
    assert first(index, query) is None


def test_a_word_that_is_nowhere_finds_nothing(index: Index) -> None:
    assert first(index, "zyzzyva") is None


@pytest.mark.parametrize("query", ["", "  \n\t", "\u200b"])
def test_an_invisible_query_is_refused(index: Index, query: str) -> None:
    with pytest.raises(EmptyQueryError):
        first(index, query)


@pytest.mark.parametrize(
    "query",
    [
        'title:json OR text:"walk',
        "NOT walk",
        "walk AND NOT walk",
        "-walk",
        "wal* ~ walk^0",
        "[walk TO zzz]",
        "walk/.*/",
        "key:1 walk",
    ],
)
def test_queries_are_words_and_no_query_language(index: Index, query: str) -> None:
    assert "walk" in [hit.passage.id for hit in index.retriever("lexical").retrieve(query)]


def test_a_query_of_twenty_thousand_words_is_answered(index: Index) -> None:
    assert first(index, " ".join(f"word{n}" for n in range(20_000)) + " fromisoformat") == "iso"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_no_query_breaks_it(index: Index, query: str) -> None:
    try:
        found = index.retriever("lexical").retrieve(query, 3)
    except EmptyQueryError:
        assert not query.strip() or not query.isprintable()
    else:
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))


def test_equal_passages_keep_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    with Index.create(tmp_path / "new", embedder=None) as index:
        index.add([Passage("the same", f"p{n}") for n in range(5)])
        index.delete(["p1"])
        index.add([Passage("the same", "p5")])
        found: list[Any] = index.retriever().retrieve("same")
    assert [hit.passage.id for hit in found] == ["p0", "p2", "p3", "p4", "p5"]


def test_many_commits_are_merged_and_stay_complete(tmp_path: Path) -> None:
    with Index.create(tmp_path / "new", embedder=None) as index:
        for n in range(20):
            index.add([Passage(f"common word{n}", f"p{n}")])
        assert len(index.retriever().retrieve("common", 50)) == 20
        assert all(first(index, f"word{n}") == f"p{n}" for n in range(20))
    segments = list((tmp_path / "new").glob("lexical-*/*.idx"))
    assert len(segments) < 20
