from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Gate, Running

    from foveate.rag.engine import Engine

BRIDGE = "The bridge spans the Tay. It was opened in 1887. Trains still use it."
FERRY = "Ferries ran until 1966. The bridge ended them."
QUERY = "When was the bridge opened?"


def body(**fields: Any) -> dict[str, Any]:
    return {"query": QUERY, "passages": [BRIDGE, FERRY], "budget": 12, **fields}


async def test_answers_with_verbatim_text_within_the_budget(running: Running) -> None:
    async with running() as client:
        answer = (await client.post("/v1/compress", json=body())).raise_for_status().json()
    assert answer["tokens_after"] == len(answer["context"].split()) <= 12 == answer["limit"]
    assert answer["tokens_before"] == len(f"{BRIDGE} {FERRY}".split())
    assert "opened in 1887" in answer["context"]
    assert not answer["degraded"]
    assert (answer["scorer"], answer["orderer"]) == ("lexical", "original")


async def test_pieces_point_at_the_source_and_say_why(running: Running) -> None:
    async with running() as client:
        answer = (await client.post("/v1/compress", json=body())).json()
    assert answer["pieces"]
    for piece in answer["pieces"]:
        source = (BRIDGE, FERRY)[piece["passage"]]
        assert source[piece["start"] : piece["end"]] == piece["text"]
        assert piece["text"].strip() in answer["context"]
        assert piece["kept"]
        assert piece["reason"] == "relevant" or piece["reason"].startswith("explains unit ")
        assert 0 <= piece["score"] <= 1


async def test_dropped_pieces_come_only_when_asked_for_and_then_all_tile_the_input(
    running: Running,
) -> None:
    async with running() as client:
        kept = (await client.post("/v1/compress", json=body())).json()["pieces"]
        wanted = body(include_dropped=True)
        pieces = (await client.post("/v1/compress", json=wanted)).json()["pieces"]
    assert [piece for piece in pieces if piece["kept"]] == kept
    assert len(pieces) > len(kept)
    for i, source in enumerate((BRIDGE, FERRY)):
        assert "".join(piece["text"] for piece in pieces if piece["passage"] == i) == source


async def test_ids_titles_and_metadata_come_back(running: Running) -> None:
    data = {"page": 7, "tags": ["rail", None], "deep": {"x": 1.5}}
    passage = {"id": "doc-7", "title": "The Tay Bridge", "text": BRIDGE, "metadata": data}
    async with running() as client:
        wanted = body(passages=[FERRY, passage], orderer="score", budget=1.0)
        answer = (await client.post("/v1/compress", json=wanted)).json()
    first, second = answer["passages"]
    assert (first["id"], first["title"], first["metadata"]) == ("1", "", {})
    assert (second["id"], second["title"], second["metadata"]) == ("doc-7", "The Tay Bridge", data)
    assert second["spans"][0][0] == 0
    assert second["spans"][-1][1] == len(BRIDGE)
    assert answer["order"] == [1, 0]
    assert answer["context"].startswith("The Tay Bridge\nThe bridge")


async def test_style_is_the_callers(running: Running) -> None:
    passage = {"title": "The Tay Bridge", "text": BRIDGE}
    wanted = body(passages=[passage], budget=1.0, titles=False, numbered=True)
    async with running() as client:
        answer = (await client.post("/v1/compress", json=wanted)).json()
    assert answer["context"] == f"[1] {BRIDGE}"


@pytest.mark.parametrize(
    "pin", ["2", {"id": "2"}, {"id": "2", "start": 3}, {"id": "2", "start": 0, "end": 5}]
)
async def test_pinned_text_stays(running: Running, pin: Any) -> None:
    async with running() as client:
        answer = (await client.post("/v1/compress", json=body(pins=[pin]))).json()
    pinned = [piece for piece in answer["pieces"] if piece["reason"] == "pinned"]
    assert {piece["passage"] for piece in pinned} == {1}
    assert "Ferries ran until 1966." in answer["context"]


async def test_an_adaptive_budget_stops_when_the_evidence_is_in(running: Running) -> None:
    wanted = body(budget={"mass": 0.8, "floor": 0.1, "limit": 1.0})
    async with running() as client:
        answer = (await client.post("/v1/compress", json=wanted)).json()
    assert 0 < answer["tokens_after"] < answer["tokens_before"]


async def test_one_is_one_token_and_one_point_nought_is_everything(running: Running) -> None:
    async with running() as client:
        token = (await client.post("/v1/compress", json=body(budget=1))).json()
        whole = (await client.post("/v1/compress", json=body(budget=1.0))).json()
    assert (token["limit"], token["context"]) == (1, "")
    assert whole["context"] == f"{BRIDGE}\n\n{FERRY}"


async def test_timings_are_in_the_body_and_in_the_header(running: Running) -> None:
    async with running() as client:
        response = await client.post("/v1/compress", json=body())
    timings = response.json()["timings"]
    assert next(iter(timings)) == "queue"
    assert list(timings)[-1] == "total"
    assert timings["total"] >= sum(timings.values()) - timings["total"]
    header = response.headers["Server-Timing"]
    assert [entry.split(";")[0] for entry in header.split(", ")] == list(timings)
    assert header.endswith(f"total;dur={timings['total']:.3f}")


async def test_past_the_deadline_a_lexical_answer_comes_and_says_so(
    running: Running, gated: Engine
) -> None:
    async with running(gated) as client:
        response = await client.post("/v1/compress", json=body(timeout=0.05))
    answer = response.raise_for_status().json()
    assert answer["degraded"]
    assert "DeadlineExceeded" in answer["degraded_reason"]
    assert answer["scorer"] == "lexical"
    assert "opened in 1887" in answer["context"]


async def test_a_request_cannot_ask_for_more_time_than_the_service_gives(
    running: Running, gated: Engine
) -> None:
    async with running(gated, timeout=0.05) as client:
        answer = (await client.post("/v1/compress", json=body(timeout=600))).json()
    assert answer["degraded"]


async def test_time_in_the_queue_counts_against_the_deadline(
    running: Running, gated: Engine, gate: Gate
) -> None:
    async with running(gated) as client, asyncio.timeout(20):
        first = asyncio.create_task(client.post("/v1/compress", json=body(query="first")))
        assert await asyncio.to_thread(gate.arrival) == "first"
        gate.hold(QUERY)
        second = asyncio.create_task(client.post("/v1/compress", json=body(timeout=0.01)))
        while (await client.get("/ready")).json()["waiting"] < 1:
            pass
        gate.open.set()
        assert not (await first).json()["degraded"]
        assert (await second).json()["degraded"]


async def test_concurrent_requests_each_get_their_own_answer(running: Running) -> None:
    async with running() as client:
        queries = [f"What about topic{n}?" for n in range(12)]
        texts = [f"Here is topic{n}. Nothing else is told." for n in range(12)]
        answers = await asyncio.gather(
            *(
                client.post("/v1/compress", json={"query": q, "passages": texts, "budget": 3})
                for q in queries
            )
        )
    for n, answer in enumerate(answers):
        assert answer.json()["context"] == f"Here is topic{n}."


async def test_what_the_engine_cannot_use_is_refused_by_name(running: Running) -> None:
    cases = {
        "query": body(query=" \n"),
        "budget": body(budget=0),
        "scorer": body(scorer="oracle"),
        "orderer": body(orderer="alphabetic"),
        "tokenizer": body(tokenizer="gpt-0"),
    }
    async with running() as client:
        for param, wanted in cases.items():
            response = await client.post("/v1/compress", json=wanted)
            error = response.json()["error"]
            assert response.status_code == 400, param
            assert error["param"] == param
            assert error["type"] == "invalid_request_error"
        unknown = await client.post("/v1/compress", json=body(pins=["9"]))
    assert unknown.status_code == 400
    assert "passage ids are: 1, 2" in unknown.json()["error"]["message"]


async def test_more_passages_than_allowed_are_refused(running: Running) -> None:
    async with running(max_passages=1) as client:
        response = await client.post("/v1/compress", json=body())
    assert response.status_code == 400
    assert "2 passages given; at most 1" in response.json()["error"]["message"]


async def test_refused_requests_never_reach_the_engine(
    running: Running, gated: Engine, gate: Gate
) -> None:
    async with running(gated) as client:
        for wanted in (body(query=" "), body(budget=0), body(scorer="oracle"), {"query": QUERY}):
            assert (await client.post("/v1/compress", json=wanted)).is_client_error
    assert gate.came == []


async def test_a_conversation_can_stand_for_the_query(running: Running) -> None:
    talk = [
        {"role": "user", "content": "Which town has a bridge over the Tay?", "name": "ann"},
        {"role": "assistant", "content": "Dundee has."},
        {"role": "user", "content": [{"type": "text", "text": "When was it opened?"}]},
    ]
    asked = {**body(messages=talk), "query": None}
    async with running() as client:
        answer = (await client.post("/v1/compress", json=asked)).raise_for_status().json()
        both = await client.post("/v1/compress", json=body(messages=talk))
        neither = await client.post("/v1/compress", json={**body(), "query": None})
        silent = await client.post("/v1/compress", json={**asked, "messages": talk[:2]})
    assert answer["query"].startswith("Which town has a bridge over the Tay?")
    assert answer["query"].endswith("When was it opened?")
    assert "opened in 1887" in answer["context"]
    for refusal in (both, neither):
        assert refusal.status_code == 422
        assert "either `query` or `messages`" in refusal.json()["error"]["message"]
    assert silent.status_code == 200  # what the assistant said last does not count


async def test_it_says_whether_anything_was_found(running: Running) -> None:
    async with running() as client:
        found = (await client.post("/v1/compress", json=body())).json()
        lost = (await client.post("/v1/compress", json=body(query="xyzzy plugh"))).json()
    assert (found["nothing_relevant"], lost["nothing_relevant"]) == (False, True)
    assert (found["confidence"], lost["confidence"]) == (1.0, 0.0)
