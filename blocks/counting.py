"""Counting tokens the caller's way."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .errors import InputError, UnknownNameError
from .memo import remembering
from .tokens import LONE_SURROGATE

if TYPE_CHECKING:
    from pathlib import Path

TokenCounter = Callable[[str], int]


def token_counter(tokenizer: str | TokenCounter | Any) -> TokenCounter:
    """A function that counts the tokens of a text.

    Args:
        tokenizer: A tiktoken encoding or model name ("o200k_base", "gpt-4o"), a Hugging Face
            tokenizer, or a function from str to int. Control markers count as plain text.

    Raises:
        UnknownNameError: tiktoken knows no encoding or model of that name.
        InputError: It is none of these.
    """
    if isinstance(tokenizer, str):
        return _tiktoken(tokenizer)
    if hasattr(tokenizer, "backend_tokenizer"):
        return _hugging_face(tokenizer)
    if callable(tokenizer) and not hasattr(tokenizer, "convert_ids_to_tokens"):
        counter: TokenCounter = tokenizer
        return counter
    raise InputError(
        f"tokenizer is {type(tokenizer).__name__}; give a tiktoken name, a Hugging Face fast "
        "tokenizer, or a function that takes a str and returns its number of tokens"
    )


def file_counter(file: Path) -> TokenCounter:
    """A function that counts by a `tokenizer.json`, as the model that it belongs to does.

    It loads neither torch nor transformers.

    Raises:
        InputError: It is no tokenizer's file.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library knows no narrower one
        raise InputError(f"{file} cannot be read as a tokenizer: {error}") from error
    return _hugging_face(_File(tokenizer))


class _File:
    """As much of a Hugging Face tokenizer as counting takes."""

    def __init__(self, backend: Any) -> None:
        self.backend_tokenizer = backend


@lru_cache(maxsize=8)
def _hugging_face(tokenizer: Any) -> TokenCounter:
    from .tokens import TextTokenizer

    return remembering(TextTokenizer(tokenizer).count)


@lru_cache(maxsize=8)
def _tiktoken(name: str) -> TokenCounter:
    import tiktoken

    try:
        encoding = (
            tiktoken.get_encoding(name)
            if name in tiktoken.list_encoding_names()
            else tiktoken.encoding_for_model(name)
        )
    except KeyError as error:
        raise UnknownNameError("tokenizer", name, tiktoken.list_encoding_names()) from error
    except OSError as error:
        raise InputError(
            f"tiktoken could not fetch the vocabulary of {name!r}: {error}; put it into "
            "TIKTOKEN_CACHE_DIR, or pass a Hugging Face tokenizer or a function"
        ) from error
    # tiktoken cannot take lone surrogates; disallowed_special=() makes control markers plain text.
    return remembering(
        lambda text: len(encoding.encode(LONE_SURROGATE.sub("\ufffd", text), disallowed_special=()))
    )
