from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.candidates import Candidates
from foveate.blocks.passage import Passage
from foveate.compressors.features import FUSED, SECOND_HOP, TWO_HOPS, Features
from foveate.compressors.hops import MAX_EVIDENCE_CHARS, second_query

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

PASSAGES = [
    Passage("The Salt Bride was composed by Ilka Dorvan. It has three acts.", title="Opera"),
    Passage("She was born in the Teld Valley. She died in 1939."),
]
QUERY = "Where was the composer of The Salt Bride born?"


def test_the_second_query_is_the_question_with_evidence_behind_its_titles() -> None:
    assert second_query(Candidates(QUERY, PASSAGES), [0, 2]).split("\n") == [
        QUERY,
        "Opera: The Salt Bride was composed by Ilka Dorvan.",
        "She was born in the Teld Valley.",
    ]


def test_without_evidence_it_is_the_question() -> None:
    assert second_query(Candidates(QUERY, PASSAGES), []) == QUERY


def test_long_evidence_is_cut() -> None:
    long = Passage("word " * 400)
    _, shown = second_query(Candidates(QUERY, [long]), [0]).split("\n")
    assert len(shown) <= MAX_EVIDENCE_CHARS


def test_only_the_features_of_the_second_hop_read_again(tiny_proxy: Proxy) -> None:
    queries: list[str] = []
    read = tiny_proxy.read

    def recording(query: str, *args: object, **options: object) -> object:
        queries.append(query)
        return read(query, *args, **options)  # type: ignore[arg-type]

    tiny_proxy.read = recording  # type: ignore[method-assign, assignment]
    features = Features(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    features.matrix(FUSED)
    assert queries == [QUERY]
    features.matrix(TWO_HOPS)
    first, second = queries
    assert second.startswith(f"{first}\n")


def test_the_second_reading_is_of_the_second_query(tiny_proxy: Proxy) -> None:
    features = Features(Candidates(QUERY, PASSAGES, proxy=tiny_proxy))
    shown = second_query(features.candidates, features.top[:2])
    alone = Features(Candidates(shown, PASSAGES, proxy=tiny_proxy))
    again = features.matrix(SECOND_HOP)
    assert np.allclose(
        again, alone.matrix(("attention", "share", "looked", "title_attention")), atol=1e-5
    )
