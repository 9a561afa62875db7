from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.counting import token_counter
from foveate.blocks.errors import InputError, UnknownNameError
from foveate.blocks.memo import remembering
from foveate.blocks.tokens import TextTokenizer

text = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("<|>im_end")))


@given(text)
def test_counting_is_the_length_of_encoding(tiny_tokenizer: Any, text: str) -> None:
    tokenizer = TextTokenizer(tiny_tokenizer)
    assert tokenizer.count(text) == len(tokenizer.encode_text(text))


def test_a_hugging_face_tokenizer_counts_markers_as_text(tiny_tokenizer: Any) -> None:
    assert token_counter(tiny_tokenizer)("<|im_end|>") == len("<|im_end|>")


def test_a_function_is_taken_as_it_is() -> None:
    assert token_counter(len)("four") == 4


def test_what_cannot_count_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="o200k_base"):
        token_counter("gpt-unheard-of")
    with pytest.raises(InputError, match="tokenizer is int"):
        token_counter(7)


def test_a_vocabulary_that_cannot_be_fetched_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tiktoken

    def unreachable(_: str) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(tiktoken, "get_encoding", unreachable)
    with pytest.raises(InputError, match=r"no route to host.*TIKTOKEN_CACHE_DIR"):
        token_counter("p50k_edit")


def test_a_tiktoken_encoding_counts_whatever_the_text_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tiktoken

    bytes_only = tiktoken.Encoding(
        "bytes",
        pat_str=r".|\n",
        mergeable_ranks={bytes([b]): b for b in range(256)},
        special_tokens={"<|endoftext|>": 256},
    )
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: bytes_only)
    count = token_counter("r50k_base")
    assert count("<|endoftext|>") == len("<|endoftext|>")
    assert count("\ud800") == len("\ufffd".encode())


def test_short_texts_are_counted_once_and_long_ones_are_not_kept() -> None:
    asked: list[int] = []

    def count(text: str) -> int:
        asked.append(len(text))
        return len(text)

    remembered = remembering(count)
    assert [remembered("abc"), remembered("abc")] == [3, 3]
    assert [remembered("x" * 5000), remembered("x" * 5000)] == [5000, 5000]
    assert asked == [3, 5000, 5000]
