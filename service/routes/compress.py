"""`POST /v1/compress`: passages in, context out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from foveate.blocks.conversation import standalone
from foveate.blocks.passage import Passage, as_passages
from foveate.rag.engine import Options
from foveate.rag.render import Style

from ..calls import budget_of, check, counter_of, timeout_of
from ..dependencies import Config, Runner, arrived, while_connected
from ..engine import Call
from ..schemas import (
    CompressRequest,
    CompressResponse,
    InputPassage,
    PassageOut,
    PieceOut,
    SpanPin,
)
from ..timing import server_timing, timings_ms
from . import FAILURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foveate.rag.context import Context, Piece
    from foveate.rag.engine import Pin

router = APIRouter(tags=["compress"])


@router.post("/v1/compress", responses=FAILURES)
async def compress(
    body: CompressRequest, request: Request, response: Response, runner: Runner, settings: Config
) -> CompressResponse:
    """Cut passages down to what the query needs, verbatim, within a hard token budget."""
    call = Call(
        _query(body),
        as_passages(_passage(passage) for passage in body.passages),
        Options(
            budget=budget_of(body.budget),
            pins=tuple(_pin(pin) for pin in body.pins),
            keep=tuple(body.keep),
            tokenizer=await counter_of(runner, body.tokenizer or settings.tokenizer),
            timeout=timeout_of(body.timeout, settings),
            style=Style(titles=body.titles, numbered=body.numbered),
        ),
        arrived(request),
        body.scorer,
        body.orderer,
    )
    served = await while_connected(request, runner.run(check(call, settings)))
    timings = timings_ms(served, call.arrived)
    response.headers["Server-Timing"] = server_timing(timings)
    return _response(served.context, timings, include_dropped=body.include_dropped)


def _query(body: CompressRequest) -> str:
    if body.query is not None:
        return body.query
    return standalone([message.model_dump() for message in body.messages or ()])


def _passage(passage: InputPassage) -> Passage:
    return Passage(passage.text, passage.id or "", passage.title or "", passage.metadata)


def _pin(pin: str | SpanPin) -> Pin:
    if isinstance(pin, str):
        return pin
    return pin.id, pin.start, sys.maxsize if pin.end is None else pin.end


def _response(
    context: Context, timings: Mapping[str, float], *, include_dropped: bool
) -> CompressResponse:
    pieces = context.pieces if include_dropped else context.kept
    return CompressResponse(
        query=context.query,
        context=context.text,
        passages=_passages(context),
        pieces=[_piece(context, piece) for piece in pieces],
        order=list(context.order),
        nothing=context.nothing,
        confidence=context.confidence,
        nothing_relevant=context.nothing_relevant,
        tokens_before=context.tokens_before,
        tokens_after=context.tokens_after,
        limit=context.limit,
        timings=dict(timings),
        scorer=context.scorer,
        orderer=context.orderer,
        degraded=context.degraded,
        degraded_reason=context.degraded_reason,
    )


def _passages(context: Context) -> list[PassageOut]:
    spans = context.spans()
    return [
        PassageOut(
            id=passage.id,
            title=passage.title,
            metadata=dict(passage.metadata),
            score=score,
            spans=spans.get(i, []),
        )
        for i, (passage, score) in enumerate(
            zip(context.passages, context.passage_scores, strict=True)
        )
    ]


def _piece(context: Context, piece: Piece) -> PieceOut:
    return PieceOut(
        passage=piece.passage,
        passage_id=piece.passage_id,
        start=piece.start,
        end=piece.end,
        text=context.piece_text(piece),
        kind=piece.kind,
        score=piece.score,
        kept=piece.kept,
        reason=piece.reason,
        also_in=list(piece.also_in),
        spared=list(piece.spared),
        tokens=piece.tokens,
    )
