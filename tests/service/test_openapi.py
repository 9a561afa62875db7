from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from foveate.service.app import create_app
from foveate.service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Running

ROUTES = {
    "/v1/compress": "post",
    "/rerank": "post",
    "/v1/rerank": "post",
    "/v2/rerank": "post",
    "/health": "get",
    "/ready": "get",
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings()).openapi()


async def test_it_is_served_as_json_and_the_pages_that_need_a_cdn_are_not(
    running: Running, document: dict[str, Any]
) -> None:
    async with running() as client:
        served = await client.get("/openapi.json")
        pages = [(await client.get(path)).status_code for path in ("/docs", "/redoc")]
    assert served.json() == json.loads(json.dumps(document))
    assert document["openapi"].startswith("3.1")
    assert pages == [404, 404]


def test_every_route_is_there_and_every_operation_has_its_own_id(document: dict[str, Any]) -> None:
    assert {path: next(iter(methods)) for path, methods in document["paths"].items()} == ROUTES
    ids = [document["paths"][path][method]["operationId"] for path, method in ROUTES.items()]
    assert len(set(ids)) == len(ROUTES)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = {value for key, value in walk(document) if key == "$ref"}
    assert references
    for reference in references:
        node: Any = document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        assert isinstance(node, dict)


def test_model_routes_document_how_they_fail_in_our_shape(document: dict[str, Any]) -> None:
    for path in ("/v1/compress", "/rerank", "/v1/rerank", "/v2/rerank"):
        responses = document["paths"][path]["post"]["responses"]
        assert {"200", "400", "413", "422", "429", "503"} <= set(responses)
        for status in ("400", "413", "422", "429", "503"):
            schema = responses[status]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorResponse"}


def test_every_field_that_a_client_sends_is_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in ("CompressRequest", "RerankRequest", "InputPassage", "AdaptiveBudget", "SpanPin"):
        assert schemas[name]["description"]
        for field, schema in schemas[name]["properties"].items():
            assert schema.get("description"), f"{name}.{field}"


async def test_the_examples_work(running: Running, document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    async with running() as client:
        for path, name in (("/v1/compress", "CompressRequest"), ("/v1/rerank", "RerankRequest")):
            for example in schemas[name]["examples"]:
                response = await client.post(path, json=example)
                assert response.status_code == 200
                assert "opened in 1887" in response.text


def walk(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        yield from node.items()
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from walk(child)
