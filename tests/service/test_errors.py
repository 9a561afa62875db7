from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from foveate.rag.engine import Engine

if TYPE_CHECKING:
    from conftest import Gate, Running

SECRET = "the patient's name is Ada"


def body(**fields: Any) -> dict[str, Any]:
    return {"query": "bridge", "passages": ["The bridge is long."], **fields}


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"query": None}, "query", "give either `query` or `messages`"),
        ({"query": 7}, "query", "valid string"),
        ({"query": None, "messages": [{"content": "a"}]}, "messages.0.role", "Field required"),
        ({"passages": []}, "passages", "at least 1 item"),
        ({"passages": ["a", {"txt": "b"}]}, "passages.1.text", "Field required"),
        ({"passages": ["a", 7]}, "passages.1", "valid dictionary"),
        ({"passages": [{"text": "a", "metadata": [1]}]}, "passages.0.metadata", "dictionary"),
        ({"budget": "0.5"}, "budget", "give an int (tokens, 1 or more), a float"),
        ({"budget": True}, "budget", "give an int"),
        ({"budget": {"mass": 2}}, "budget.mass", "less than or equal to 1"),
        ({"budget": {"limit": "all"}}, "budget.limit", "give an int"),
        ({"timeout": 0}, "timeout", "greater than 0"),
        ({"pins": [{"start": 3}]}, "pins.0.id", "Field required"),
        ({"bugdet": 3}, "bugdet", "not permitted"),
        ({"query": "half \ud83d of it"}, "query", "half a surrogate pair"),
        ({"passages": [{"text": "a", "metadata": {"k": "\udc00"}}]}, "passages.0.metadata", "half"),
    ],
)
async def test_a_body_of_another_shape_is_refused_with_the_field_and_what_is_allowed(
    running: Running, fields: dict[str, Any], param: str, message: str
) -> None:
    import json

    async with running() as client:
        raw = json.dumps(body(**fields))  # ASCII escapes, so that half a pair gets through
        response = await client.post(
            "/v1/compress", content=raw, headers={"Content-Type": "application/json"}
        )
    error = response.json()["error"]
    assert response.status_code == 422
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert message in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b'{"query": ', 422),
        (b"", 422),
        (b"[]", 422),
        (b'{"query": "\xff"}', 400),
        (b'{"query": ' + b"[" * 100_000, 400),
        (b'{"query": "q", "passages": ["a"], "budget": ' + b"9" * 5_000 + b"}", 400),
        (b'{"query": "q", "passages": ["a"], "\\ud800": 1}', 422),
        (b'{"query": "q", "passages": ["a"], "budget": NaN}', 400),
        (b'{"query": "q", "passages": ["a"], "scorer": "\\ud800"}', 400),
    ],
)
async def test_what_is_no_proper_json_is_refused_in_the_same_shape(
    running: Running, raw: bytes, status: int
) -> None:
    async with running() as client:
        response = await client.post(
            "/v1/compress", content=raw, headers={"Content-Type": "application/json"}
        )
    assert response.status_code == status
    assert response.json()["error"]["message"]


async def test_unknown_routes_and_methods_answer_in_the_same_shape(running: Running) -> None:
    async with running() as client:
        missing = await client.get("/v1/nothing")
        method = await client.get("/v1/compress")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert (method.status_code, method.json()["error"]["code"]) == (405, "method_not_allowed")
    assert method.headers["Allow"] == "POST"


async def test_a_full_queue_is_429_with_a_time_to_come_back(
    running: Running, gated: Engine, gate: Gate
) -> None:
    async with running(gated, max_queue=0) as client, asyncio.timeout(20):
        first = asyncio.create_task(client.post("/v1/compress", json=body()))
        await asyncio.to_thread(gate.arrival)
        refused = await client.post("/rerank", json={"query": "q", "documents": ["a"]})
        gate.open.set()
        assert (await first).status_code == 200
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1
    assert refused.json()["error"]["code"] == "overloaded"
    assert len(gate.came) == 1


async def test_a_fault_of_ours_tells_the_client_nothing_but_where_to_look(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Engine):
        def compress(self, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("/etc/internal/path")

    async with running(Broken(None, scorer="lexical")) as client:
        headers = {"X-Request-ID": "find-me"}
        response = await client.post("/v1/compress", json=body(), headers=headers)
    assert response.status_code == 500
    assert response.headers["X-Request-ID"] == "find-me"
    assert "internal" not in response.text.replace("internal error", "").replace(
        '"code":"internal"', ""
    )
    assert "find-me" in response.json()["error"]["message"]
    assert "/etc/internal/path" in caplog.text
    assert "find-me" in caplog.text


async def test_no_query_and_no_passage_is_ever_logged(
    running: Running, caplog: pytest.LogCaptureFixture, gated: Engine
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running() as client:
        await client.post("/v1/compress", json=body(query=SECRET, passages=[SECRET]))
        await client.post("/v1/compress", json=body(query=SECRET, passages=[7]))
        await client.post("/v1/compress", json=body(query=SECRET, scorer="oracle"))
        await client.post(f"/v1/compress?q={SECRET}", json=body(query=SECRET))
        await client.get(f"/{SECRET}")
    async with running(gated, timeout=0.05) as client:
        late = await client.post("/v1/compress", json=body(query=SECRET, passages=[SECRET]))
    assert late.json()["degraded"]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("foveate")]
    assert len(ours) >= 6
    assert not any("Ada" in message for message in ours)
