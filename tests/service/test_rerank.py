from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Running

    from foveate.rag.engine import Engine

QUERY = "When was the bridge opened?"
DOCUMENTS = [
    "Ferries ran until 1966.",
    "The bridge was opened in 1887. A storm had felled the first. It is long.",
    "Bridge is a card game.",
]


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "rerank-v3.5", "query": QUERY, "documents": DOCUMENTS, **fields}


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
async def test_answers_in_the_shape_of_cohere_and_jina(running: Running, path: str) -> None:
    async with running() as client:
        response = await client.post(path, json=body(), headers={"X-Request-ID": "abc-1"})
    answer = response.raise_for_status().json()
    assert answer["id"] == "abc-1"
    assert answer["model"] == "lexical"
    words = len(" ".join(DOCUMENTS).split())
    assert answer["usage"] == {"prompt_tokens": words, "total_tokens": words}
    assert [result["index"] for result in answer["results"]] == [1, 2, 0]
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(set(result) == {"index", "relevance_score"} for result in answer["results"])
    assert response.headers["Server-Timing"].startswith("queue;dur=")


async def test_top_n_cuts_and_more_than_there_are_is_all(running: Running) -> None:
    async with running() as client:
        one = (await client.post("/v1/rerank", json=body(top_n=1))).json()
        many = (await client.post("/v1/rerank", json=body(top_n=99))).json()
    assert [result["index"] for result in one["results"]] == [1]
    assert len(many["results"]) == 3


async def test_documents_come_back_whole_if_asked_for(running: Running) -> None:
    documents = [DOCUMENTS[0], {"text": DOCUMENTS[1], "author": "ignored"}]
    wanted = body(documents=documents, return_documents=True, max_tokens_per_doc=2)
    async with running() as client:
        answer = (await client.post("/v1/rerank", json=wanted)).json()
    texts = {result["index"]: result["document"] for result in answer["results"]}
    assert texts == {0: {"text": DOCUMENTS[0]}, 1: {"text": DOCUMENTS[1]}}


async def test_what_is_beyond_max_tokens_per_doc_is_not_looked_at(running: Running) -> None:
    documents = ["one two three bridge opened", "bridge one two three four"]
    async with running() as client:
        whole = (await client.post("/rerank", json=body(documents=documents))).json()
        wanted = body(documents=documents, max_tokens_per_doc=3)
        heads = (await client.post("/rerank", json=wanted)).json()
    assert whole["results"][0]["index"] == 0
    assert [(r["index"], r["relevance_score"] > 0) for r in heads["results"]] == [
        (1, True),
        (0, False),
    ]
    assert heads["usage"]["total_tokens"] == 6


async def test_with_a_budget_results_say_what_would_stay(running: Running) -> None:
    async with running() as client:
        answer = (await client.post("/rerank", json=body(budget=7))).json()
    best, *others = answer["results"]
    (span,) = best["spans"]
    assert DOCUMENTS[1][slice(*span)].strip() == "The bridge was opened in 1887."
    assert all(result["spans"] == [] for result in others)


async def test_unknown_fields_of_other_dialects_are_ignored(running: Running) -> None:
    async with running() as client:
        response = await client.post("/v1/rerank", json=body(rank_fields=["text"], priority=0))
    assert response.status_code == 200


async def test_ties_keep_the_order_of_the_request(running: Running) -> None:
    async with running() as client:
        answer = (
            await client.post("/rerank", json=body(documents=["same", "same", "same"]))
        ).json()
    assert [result["index"] for result in answer["results"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"documents": []}, "documents"),
        ({"documents": [{"txt": "a"}]}, "documents.0.text"),
        ({"documents": [7]}, "documents.0"),
        ({"top_n": 0}, "top_n"),
        ({"max_tokens_per_doc": 0}, "max_tokens_per_doc"),
    ],
)
async def test_a_bad_field_is_named(running: Running, fields: dict[str, Any], param: str) -> None:
    async with running() as client:
        response = await client.post("/v1/rerank", json=body(**fields))
    assert response.status_code == 422
    assert response.json()["error"]["param"] == param


async def test_more_documents_than_allowed_are_refused(running: Running) -> None:
    async with running(max_passages=2) as client:
        response = await client.post("/v1/rerank", json=body())
    assert response.status_code == 400
    assert "3 documents given" in response.json()["error"]["message"]


async def test_a_late_answer_is_lexical_and_says_so(running: Running, gated: Engine) -> None:
    async with running(gated) as client:
        answer = (await client.post("/v1/rerank", json=body(timeout=0.05))).json()
    assert answer["degraded"]
    assert answer["model"] == "lexical"
    assert answer["results"][0]["index"] == 1
