"""`POST /rerank`, `/v1/rerank`, `/v2/rerank`: the shape of Jina's and Cohere's APIs.

So their clients work unchanged, by their base URL. With our own field `budget`, each result also
says which of its text would stay.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from foveate.blocks.passage import as_passages
from foveate.rag.engine import Options
from foveate.rag.render import Style

from ..calls import budget_of, check, counter_of, timeout_of
from ..dependencies import Config, Runner, arrived, request_id, while_connected
from ..engine import Call
from ..schemas import RerankDocument, RerankRequest, RerankResponse, RerankResult, RerankUsage
from ..timing import server_timing, timings_ms
from . import FAILURES

if TYPE_CHECKING:
    from foveate.blocks.counting import TokenCounter
    from foveate.rag.context import Context

router = APIRouter(tags=["rerank"], responses=FAILURES)

EVERYTHING = 1.0
"""The budget where a client only asks for scores."""


@router.post("/rerank", response_model_exclude_none=True)
@router.post("/v1/rerank", response_model_exclude_none=True)
@router.post("/v2/rerank", response_model_exclude_none=True)
async def rerank(
    body: RerankRequest, request: Request, response: Response, runner: Runner, settings: Config
) -> RerankResponse:
    """Order documents by how relevant they are to a query."""
    tokenizer = await counter_of(runner, settings.tokenizer)
    texts = [document.text for document in body.documents]
    if body.max_tokens_per_doc is not None:
        count = tokenizer or runner.engine.counter(None)
        texts = await asyncio.to_thread(_heads, texts, body.max_tokens_per_doc, count)
    call = Call(
        body.query,
        as_passages(texts),
        Options(
            budget=EVERYTHING if body.budget is None else budget_of(body.budget),
            tokenizer=tokenizer,
            timeout=timeout_of(body.timeout, settings),
            style=Style(titles=False),
        ),
        arrived(request),
        orderer="original",  # results are sorted by score: no other order is worth a reading
    )
    call = check(call, settings, field="documents")
    served = await while_connected(request, runner.run(call))
    response.headers["Server-Timing"] = server_timing(timings_ms(served, call.arrived))
    return _response(served.context, body, request_id(request))


def _heads(texts: list[str], tokens: int, count: TokenCounter) -> list[str]:
    """Each text's longest beginning of at most that many tokens."""
    return [text if count(text) <= tokens else _head(text, tokens, count) for text in texts]


def _head(text: str, tokens: int, count: TokenCounter) -> str:
    fits = bisect_right(range(len(text) + 1), tokens, key=lambda end: count(text[:end]))
    return text[: fits - 1]


def _response(context: Context, body: RerankRequest, id: str) -> RerankResponse:
    scores = context.passage_scores
    best = sorted(range(len(scores)), key=lambda i: -scores[i])[: body.top_n]
    spans = context.spans()
    results = [
        RerankResult(
            index=i,
            relevance_score=scores[i],
            document=RerankDocument(text=body.documents[i].text) if body.return_documents else None,
            spans=None if body.budget is None else spans.get(i, []),
        )
        for i in best
    ]
    return RerankResponse(
        id=id,
        model=context.scorer,
        usage=RerankUsage(prompt_tokens=context.tokens_before, total_tokens=context.tokens_before),
        results=results,
        degraded=context.degraded,
        degraded_reason=context.degraded_reason,
    )
