"""A context as plain values loses nothing and fits into JSON, whatever text and metadata hold."""

from __future__ import annotations

import datetime
import json
import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.rag.report import VERSION, as_dict, as_json

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import MakeContext

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too


def test_every_field_is_there_and_survives_json(make_context: MakeContext) -> None:
    context = make_context()

    values = as_dict(context)

    assert json.loads(json.dumps(values)) == values
    assert values["version"] == VERSION
    missing = set(context.__dataclass_fields__) - set(values)
    assert missing == {"pieces", "passage_scores"}  # as "kept" and "dropped", and with the passages
    assert context.to_dict() == values


def test_pieces_point_into_source_text_that_is_there_once(make_context: MakeContext) -> None:
    context = make_context()

    values = as_dict(context)

    pieces = sorted(values["kept"] + values["dropped"], key=lambda p: (p["passage"], p["start"]))
    for i, passage in enumerate(values["passages"]):
        own = [piece for piece in pieces if piece["passage"] == i]
        assert "".join(passage["text"][p["start"] : p["end"]] for p in own) == passage["text"]
        assert {piece["id"] for piece in own} == {passage["id"]}
    assert len(values["kept"]) == len(context.kept) == 3
    assert values["kept"][0] == {
        "passage": 0,
        "id": "eiffel",
        "start": 0,
        "end": 34,
        "kind": "sentence",
        "score": 0.91,
        "reason": "relevant",
        "also_in": [],
        "spared": [],
        "tokens": 6,
    }


def test_timings_and_scores_are_rounded(make_context: MakeContext) -> None:
    context = make_context(
        [("a", "", [("Text.", 0.123456789, True)])], timings={"read": 1.23456, "total": 2.0}
    )

    values = as_dict(context)

    assert values["timings"] == {"read": 1.235, "total": 2.0}
    assert values["kept"][0]["score"] == 0.123457


def test_the_reason_for_degrading_is_told(make_context: MakeContext) -> None:
    values = as_dict(make_context(degraded_reason="DeadlineExceededError: late"))

    assert values["degraded"] is True
    assert values["degraded_reason"] == "DeadlineExceededError: late"


@given(text=ANY_TEXT.filter(bool), title=ANY_TEXT, query=ANY_TEXT)
def test_any_text_survives_json(
    make_context: MakeContext, text: str, title: str, query: str
) -> None:
    context = make_context([("a", title, [(text, 0.5, True)])], query=query)

    back = json.loads(as_json(context))

    assert back == as_dict(context)
    assert (back["passages"][0]["text"], back["query"]) == (text, query)


def test_lone_surrogates_can_be_written_to_a_file(
    make_context: MakeContext, tmp_path: Path
) -> None:
    context = make_context([("\udfff", "\ud800", [("broken \ud83d text", 0.5, True)])])
    path = tmp_path / "context.json"

    path.write_text(as_json(context), encoding="utf-8")

    assert json.loads(path.read_text(encoding="utf-8")) == as_dict(context)


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"page": 3, 4: None}, {"page": 3, "4": None}),
        ((1, [2.5, True]), [1, [2.5, True]]),
        ({"b", "a"}, ["a", "b"]),
        (np.float32(0.5), 0.5),
        (np.array([[1, 2]]), [[1, 2]]),
        (math.nan, None),
        (-math.inf, None),
        (Colour.RED, "red"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (b"raw", "b'raw'"),
    ],
)
def test_metadata_becomes_what_json_can_hold(
    make_context: MakeContext, value: Any, plain: Any
) -> None:
    context = make_context(metadata={"key": value})

    metadata = as_dict(context)["passages"][0]["metadata"]

    assert metadata == {"key": plain}
    assert type(metadata["key"]) is type(plain)
    assert json.loads(as_json(context))["passages"][0]["metadata"] == {"key": plain}


def test_metadata_that_holds_itself_ends(make_context: MakeContext) -> None:
    cycle: list[Any] = []
    cycle += [cycle, cycle]

    context = make_context(metadata={"self": cycle})

    assert json.loads(as_json(context)) == as_dict(context)


def test_the_callers_metadata_is_not_shared(make_context: MakeContext) -> None:
    context = make_context(metadata={"pages": [1]})

    as_dict(context)["passages"][0]["metadata"]["pages"].append(2)

    assert context.passages[0].metadata == {"pages": [1]}
