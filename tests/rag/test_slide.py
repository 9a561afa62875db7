from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate import Engine, slide
from foveate.blocks.errors import BudgetError, InputError
from foveate.rag.windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveate.blocks.proxy import Proxy
    from foveate.rag.slide import Slid

QUERY = "What did the ship Velmar carry?"
NEEDLE = "The ship Velmar carried amber."
LOG = "".join(
    f"Day {n} brought fog and rain over the quay. Nobody saw anything at all.\n\n"
    for n in range(300)
)
TEXT = LOG[:9000] + NEEDLE + " " + LOG[9000:]


def words(text: str) -> int:
    return len(text.split())


def kept(stream: object, **options: object) -> Slid:
    given = {"scorer": "lexical", "tokenizer": words, "budget": 30, "window": 700}
    return slide(QUERY, stream, engine=Engine(None), **{**given, **options})  # type: ignore[arg-type]


def in_pieces(text: str, sizes: list[int]) -> Iterator[str]:
    at = 0
    for size in itertools.cycle(sizes):
        if at >= len(text):
            return
        yield text[at : at + size]
        at += size


def test_what_answers_is_found_wherever_it_stands() -> None:
    for at in (0, len(LOG) // 2, len(LOG)):
        text = f"{LOG[:at]}\n\n{NEEDLE}\n\n{LOG[at:]}"
        found = kept(text)
        assert NEEDLE in found.text
        assert words(found.text) == found.tokens <= 30
        assert found.characters == len(text)
        assert found.windows > 25


def test_excerpts_are_the_streams_own_characters_in_order() -> None:
    found = kept(TEXT)
    assert any(NEEDLE in excerpt.text for excerpt in found.excerpts)
    end = 0
    for excerpt in found.excerpts:
        assert end <= excerpt.start < excerpt.end
        assert TEXT[excerpt.start : excerpt.end] == excerpt.text
        assert 0 <= excerpt.score <= 1
        end = excerpt.end


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=5))
def test_the_pieces_that_a_text_comes_in_change_nothing(sizes: list[int]) -> None:
    whole = list(windows(TEXT, 700))
    assert list(windows(in_pieces(TEXT, sizes), 700)) == whole
    assert "".join(text for _, text in whole) == TEXT
    assert all(0 < len(text) <= 700 for _, text in whole)
    assert [start for start, _ in whole] == [
        0,
        *itertools.accumulate(len(text) for _, text in whole[:-1]),
    ]


@given(st.text(max_size=200), st.integers(1, 40))
def test_windows_tile_any_text(text: str, size: int) -> None:
    found = list(windows(list(text), size))
    assert "".join(part for _, part in found) == text
    assert all(0 < len(part) <= size for _, part in found)


def test_a_single_line_without_end_is_read_in_windows_too() -> None:
    text = "x" * 50_000 + " " + NEEDLE + " " + "y" * 50_000
    assert NEEDLE in kept(text, window=1000, budget=8).text


def test_only_a_window_of_the_stream_is_held() -> None:
    drawn: list[int] = []

    def endless() -> Iterator[str]:
        for n in range(4000):
            drawn.append(n)
            yield f"Day {n} brought fog. "

    for taken, _ in enumerate(windows(endless(), 500), start=1):
        assert len(drawn) <= taken * 30  # no more was asked for than these windows needed


class Clock:
    """A deadline of so many windows."""

    def __init__(self, windows: int) -> None:
        self.asked = 0
        self.windows = windows

    def left(self) -> float | None:
        self.asked += 1
        return None if self.asked <= 2 * self.windows else 0.0  # asked twice a window


def test_past_the_timeout_what_was_found_so_far_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foveate.rag.slide.Deadline", lambda _: Clock(3))
    found = kept(f"{NEEDLE} {LOG}", timeout=25)
    assert found.degraded
    assert f"the time was over after {found.characters:,} characters" in found.degraded_reason
    assert found.windows == 3
    assert NEEDLE in found.text


def test_no_time_at_all_is_said() -> None:
    found = kept(TEXT, timeout=0)
    assert (found.text, found.excerpts, found.degraded) == ("", (), True)


@pytest.mark.parametrize("budget", [0, 0.5, True, "many"])
def test_a_budget_that_a_stream_cannot_have_is_refused(budget: object) -> None:
    with pytest.raises(BudgetError, match="number of tokens"):
        kept(TEXT, budget=budget)


@pytest.mark.parametrize(
    ("stream", "words_of_it"),
    [([b"bytes"], "bytes"), ([], "no text"), (["  ", "\n"], "no text")],
)
def test_a_stream_that_is_no_text_is_refused(stream: object, words_of_it: str) -> None:
    with pytest.raises(InputError, match=words_of_it):
        kept(stream)


def test_no_window_is_refused() -> None:
    with pytest.raises(InputError, match="window 0"):
        kept(TEXT, window=0)


@pytest.mark.model
def test_the_default_proxy_finds_a_sentence_in_a_long_text(default_proxy: Proxy) -> None:
    found = slide(
        "Which cargo was on board of the Velmar?", TEXT[3000:15000], budget=60, proxy=default_proxy
    )
    assert NEEDLE in found.text
    assert found.tokens <= 60
    assert not found.degraded


def test_blocks_of_windows_that_are_past_are_not_kept(tiny_proxy: Proxy) -> None:
    before = tiny_proxy.store.stats().blocks
    given = {"scorer": "one-hop", "tokenizer": words, "budget": 20, "window": 300}
    slide(QUERY, TEXT[:3000], proxy=tiny_proxy, **given)  # type: ignore[arg-type]
    assert tiny_proxy.store.stats().blocks == before
