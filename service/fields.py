"""Types that several bodies share, each refusing what it cannot take with a message of its own."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictFloat,
    StrictInt,
)
from pydantic_core import PydanticCustomError


def as_object(value: Any) -> Any:
    """A bare text as the object that holds it."""
    return {"text": value} if isinstance(value, str) else value


def _encodable(value: Any) -> Any:
    """JSON can smuggle in half a surrogate pair, which no answer could carry back out."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise PydanticCustomError(
            "unicode", "holds half a surrogate pair, which is no Unicode text; send it whole"
        ) from None
    return value


def _size(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise PydanticCustomError(
        "budget", "give an int (tokens, 1 or more) or a float (share of the input, in (0, 1])"
    )


def _budget(value: Any) -> Any:
    if isinstance(value, int | float | dict) and not isinstance(value, bool):
        return value
    raise PydanticCustomError(
        "budget",
        "give an int (tokens, 1 or more), a float (share of the input, in (0, 1]), "
        'or an object {"mass", "floor", "limit"}',
    )


Text = Annotated[str, AfterValidator(_encodable)]
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_encodable)]
Size = Annotated[StrictInt | StrictFloat, BeforeValidator(_size)]


class Strict(BaseModel):
    """Fields that do not exist are refused: a slip in a name must not pass for a default."""

    model_config = ConfigDict(extra="forbid")


class AdaptiveBudget(Strict):
    """As much as the evidence asks for."""

    mass: float = Field(0.9, gt=0, le=1, description="Share of all relevance to reach.")
    floor: float = Field(0.05, ge=0, le=1, description="Score below which nothing is kept.")
    limit: Size | None = Field(
        None, description="Hard limit besides: tokens or share; none if null."
    )


BudgetField = Annotated[StrictInt | StrictFloat | AdaptiveBudget, BeforeValidator(_budget)]
