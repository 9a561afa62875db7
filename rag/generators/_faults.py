"""What goes wrong at an endpoint, as one typed error that says what to do."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foveate.blocks.errors import DeadlineExceededError, FoveateError, GeneratorError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DETAIL = 300  # characters of the server's own words

_ADVICE = {
    400: "the request was refused; if it is too long, lower the budget or max_tokens",
    401: "the key was refused; set OPENAI_API_KEY or pass api_key=...",
    403: "this key may not use this model",
    404: "there is no such model or path; check the model's name, and that base_url ends in /v1",
    413: "the request is too long; lower the budget",
    422: "the request was refused; if it is too long, lower the budget or max_tokens",
    429: "too many requests, or no quota left; wait, or raise max_retries",
}
_SERVER_ADVICE = "the server failed; look at its log, or try again later"


class EndpointError(GeneratorError):
    """An endpoint did not answer, or not with an answer.

    Args:
        message: What happened and what to do.
        status: The HTTP status; None if there was no response.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go, for messages.

    Attributes:
        url: Base URL.
        timeout: Seconds that one attempt may take.
        max_retries: Attempts after the first.
    """

    url: str
    timeout: float
    max_retries: int

    @contextmanager
    def faults(self, allowed: float | None) -> Iterator[None]:
        """Turn what is raised inside into errors of Foveate.

        Args:
            allowed: Seconds of the deadline that holds inside.

        Raises:
            EndpointError: The endpoint or the way to it failed.
            DeadlineExceededError: The deadline passed.
        """
        try:
            yield
        except FoveateError:
            raise
        except TimeoutError:
            raise DeadlineExceededError(f"{self.url} did not answer within {allowed} s") from None
        except Exception as error:  # the SDK lets errors of its transport and its parser through
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> EndpointError:
        import openai

        tries = f"{self.max_retries + 1} attempts" if self.max_retries else "1 attempt"
        match error:
            case openai.APIStatusError(status_code=status):
                said, advice = _clip(error.message), _ADVICE.get(status, _SERVER_ADVICE)
                return EndpointError(f"{self.url} answered {status} ({said}): {advice}", status)
            case _ if _is_a(error, "APITimeoutError", "TimeoutException"):
                return EndpointError(
                    f"{self.url} did not answer within {self.timeout} s, {tries}; "
                    "raise timeout=..., or lower max_tokens"
                )
            case _ if _is_a(error, "APIConnectionError", "TransportError"):
                why = error.__cause__ or error
                return EndpointError(
                    f"{self.url} cannot be reached or broke off, {tries} ({_clip(str(why))}); "
                    "is the server running, and base_url right?"
                )
            case openai.APIError():
                return EndpointError(f"{self.url} reported an error: {_clip(error.message)}")
            case _:
                return EndpointError(
                    f"{self.url} sent something that is no chat completion "
                    f"({type(error).__name__}: {_clip(str(error))}); is base_url right?"
                )


def _is_a(error: Exception, *names: str) -> bool:
    # By name: in mid-stream some versions of the SDK let through what httpx or httpx2 raised.
    return any(base.__name__ in names for base in type(error).__mro__)


def _clip(text: str) -> str:
    return text if len(text) <= MAX_DETAIL else text[:MAX_DETAIL] + "…"
