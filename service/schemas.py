"""The bodies that go in and out, with what each field means. Offsets are Unicode code points."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from foveate.blocks.passage import UnitKind  # noqa: TC001 - pydantic reads annotations

from .fields import BudgetField, Metadata, Strict, Text, as_object

KeepName = Literal["numbers", "dates", "urls", "emails", "code", "quotes", "identifiers"]
"""No patterns: one could keep the service busy for ever."""


class InputPassage(Strict):
    """One retrieved text."""

    text: Text = Field(description="The source text; what is kept of it is verbatim.")
    id: Text | None = Field(None, description="Echoed; the 1-based place in the list if null.")
    title: Text | None = Field(None, description="Scored, and shown above the text.")
    metadata: Metadata = Field({}, description="Your own data, echoed.")


class SpanPin(Strict):
    """Text that must stay."""

    id: Text = Field(description="Id of its passage.")
    start: int = Field(0, ge=0, description="First character.")
    end: int | None = Field(None, ge=0, description="One past the last; the passage's end if null.")


PassageIn = Annotated[
    InputPassage, BeforeValidator(as_object, json_schema_input_type=str | InputPassage)
]


class Part(BaseModel):
    """A part of a message; those that are not text are left out."""

    type: str
    text: Text | None = None


class Message(BaseModel):
    """One turn, as in OpenAI's chat API; fields that we do not know are ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[Part] | None = None


class CompressRequest(Strict):
    """A question, the passages that were retrieved for it, and how much of them may stay."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "When was the bridge opened?",
                    "passages": [
                        "The bridge over the Tay was opened in 1887. Trains still use it.",
                        {"id": "doc-7", "title": "Ferries", "text": "Ferries ran until 1966."},
                    ],
                    "budget": 0.5,
                }
            ]
        }
    )

    messages: list[Message] | None = Field(
        None,
        min_length=1,
        description="A conversation that ends with the question, in place of `query`: its last "
        "user message is read with what it refers to.",
    )
    query: Text | None = Field(
        None, validate_default=True, description="The question; or give `messages`."
    )
    passages: list[PassageIn] = Field(min_length=1, description="Texts, or objects with a text.")
    budget: BudgetField = Field(
        0.5,
        description="Tokens if an integer, share of the input if it has a decimal point (write "
        "1.0, not 1, for all of it), or an object: as much as the evidence asks for.",
    )
    scorer: str | None = Field(None, description="What decides; null is the service's own.")
    orderer: str | None = Field(
        None, description="Where passages stand; null is the service's own."
    )
    tokenizer: str | None = Field(
        None, description='tiktoken name that counts, such as "o200k_base"; null is the service\'s.'
    )
    pins: list[Text | SpanPin] = Field([], description="Passage ids, or spans, that must stay.")
    keep: list[KeepName] = Field([], description="What must stay wherever it stands.")
    timeout: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Seconds from arrival until an answer is due; it can only shorten the service's"
        " own limit. Past it, a lexical answer comes, marked degraded.",
    )
    titles: bool = Field(True, description="Put each title above its passage.")
    numbered: bool = Field(False, description="Put [n] before each passage, for citation.")
    include_dropped: bool = Field(False, description="List in `pieces` what was left out, too.")

    @field_validator("query")
    @classmethod
    def _one_question(cls, query: str | None, given: ValidationInfo) -> str | None:
        # A conversation of another shape is missing in `given`, and refused for itself.
        if "messages" in given.data and (query is None) == (given.data["messages"] is None):
            raise PydanticCustomError("question", "give either `query` or `messages`")
        return query


class PieceOut(BaseModel):
    """One sentence, list item, table row or statement of a passage."""

    passage: int = Field(description="Index of its passage in the request.")
    passage_id: str = Field(description="Id of its passage.")
    start: int = Field(description="First character in the passage's text.")
    end: int = Field(description="One past the last.")
    text: str = Field(description="That text, verbatim.")
    kind: UnitKind
    score: float = Field(description="Calibrated relevance in [0, 1].")
    kept: bool = Field(description="Whether it is in the context.")
    reason: str = Field(description="Why it is kept or dropped.")
    tokens: int = Field(description="Its tokens, alone.")
    also_in: list[int] = Field([], description="Other passages that say the same, left out there.")
    spared: list[tuple[int, int]] = Field(
        [], description="Characters within the piece that are left out, as spans of the passage."
    )


class PassageOut(BaseModel):
    """One passage of the request, in the request's order."""

    id: str
    title: str
    metadata: dict[str, JsonValue]
    score: float = Field(description="Calibrated relevance in [0, 1].")
    spans: list[tuple[int, int]] = Field(description="Kept [start, end), sorted and disjoint.")


class CompressResponse(BaseModel):
    """The context, with the source of every character of it."""

    query: str = Field(description="The question, as it was read.")
    context: str = Field(description="What the generator should see; the budget bounds it.")
    passages: list[PassageOut]
    pieces: list[PieceOut] = Field(description="In the request's order.")
    order: list[int] = Field(description="Indices of the passages in the context, first to last.")
    nothing: float = Field(description="How far the evidence says that no passage answers, 0 to 1.")
    confidence: float = Field(description="The same turned round: 1 - nothing.")
    nothing_relevant: bool = Field(description="Whether so little was found that none may answer.")
    tokens_before: int = Field(description="Tokens of all passages, whole.")
    tokens_after: int = Field(description="Tokens of the context.")
    limit: int = Field(description="Tokens that were allowed.")
    timings: dict[str, float] = Field(
        description='Milliseconds by stage; "queue" waited, "total" since arrival.'
    )
    scorer: str = Field(description="What decided.")
    orderer: str = Field(description="What put them in order.")
    degraded: bool = Field(description="Whether a simpler method stood in.")
    degraded_reason: str = Field(description="Why; empty if none did.")


class RerankDocument(BaseModel):
    """A document to rerank; other fields are ignored."""

    text: Text


DocumentIn = Annotated[
    RerankDocument, BeforeValidator(as_object, json_schema_input_type=str | RerankDocument)
]


class RerankRequest(BaseModel):
    """The request of Jina's and Cohere's rerank APIs; fields that we do not know are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "When was the bridge opened?",
                    "documents": ["Ferries ran until 1966.", "The bridge was opened in 1887."],
                    "top_n": 1,
                    "return_documents": True,
                }
            ]
        }
    )

    model: str | None = Field(None, description="Taken for compatibility; the service has one.")
    query: Text = Field(description="The question.")
    documents: list[DocumentIn] = Field(min_length=1, description="Texts, or objects with a text.")
    top_n: int | None = Field(None, ge=1, description="Results to return; all if null.")
    return_documents: bool = Field(False, description="Whether results carry their document.")
    max_tokens_per_doc: int | None = Field(
        None, ge=1, description="Tokens of each document to look at; all if null."
    )
    budget: BudgetField | None = Field(
        None, description="Ours: compress, too; each result then has `spans`. See /v1/compress."
    )
    timeout: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Ours: seconds until an answer is due."
    )


class RerankUsage(BaseModel):
    """What was read."""

    prompt_tokens: int
    total_tokens: int


class RerankResult(BaseModel):
    """One document, scored."""

    index: int = Field(description="Its place in the request.")
    relevance_score: float = Field(description="Calibrated relevance in [0, 1].")
    document: RerankDocument | None = Field(None, description="If `return_documents`.")
    spans: list[tuple[int, int]] | None = Field(
        None, description="If `budget`: kept [start, end) of the document's text."
    )


class RerankResponse(BaseModel):
    """Results, best first."""

    id: str = Field(description="The request's id.")
    model: str = Field(description="The scorer that answered.")
    usage: RerankUsage
    results: list[RerankResult]
    degraded: bool = Field(description="Whether a simpler method stood in.")
    degraded_reason: str = Field(description="Why; empty if none did.")


class Health(BaseModel):
    """The process is up."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether requests are taken."""

    status: Literal["loading", "ready", "draining", "failed"]
    waiting: int = Field(description="Requests in the queue.")


class ErrorDetail(BaseModel):
    """What went wrong."""

    message: str = Field(description="What was given, what is allowed, what to do.")
    type: str = Field(description="Kind of error.")
    param: str | None = Field(None, description="The field, such as `passages.0.text`.")
    code: str = Field(description="The error, for programs.")


class ErrorResponse(BaseModel):
    """The body of every error."""

    error: ErrorDetail
