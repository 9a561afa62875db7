"""A generator behind any endpoint of chat completions: OpenAI, vLLM, Ollama, llama.cpp.

The endpoint's tokenizer is not ours, so control markers in the content are broken before it leaves.
"""

from __future__ import annotations

import asyncio
import os
import queue
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from foveate.blocks.deadline import Deadline
from foveate.blocks.errors import InputError, MissingExtraError
from foveate.blocks.tokens import LONE_SURROGATE
from foveate.rag.prompt import chat_messages, defuse

from ._background import Background
from ._faults import Endpoint, EndpointError
from .base import MAX_TOKENS, Generator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from collections.abc import Generator as PythonGenerator

    from foveate.rag.context import Context

NO_KEY = "none"
"""Sent to endpoints of one's own, which ask for no key, where the SDK insists on one."""


class OpenAIGenerator(Generator):
    """Asks a chat-completions endpoint. Safe to use from many threads and event loops.

    Args:
        model: The model's name at the endpoint.
        base_url: The endpoint, up to and with `/v1`; OPENAI_BASE_URL or OpenAI itself by default.
        api_key: OPENAI_API_KEY by default; endpoints of one's own may need none.
        timeout: Seconds that one attempt may take, or the pause between two pieces of a stream.
        max_retries: Attempts after the first, with growing pauses: on 408, 409, 429, 5xx, timeouts
            and broken connections.
        instruction: The system message; see `chat_messages`.
        temperature: Sent if given; some models take none.
        body: Further fields of every request, such as `{"cache_salt": ...}` of vLLM.

    Raises:
        InputError: A number is out of its range, or there is no key for OpenAI itself.
        MissingExtraError: The extra `generators` is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        instruction: str | None = None,
        temperature: float | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        if timeout <= 0 or max_retries < 0:
            raise InputError(
                f"timeout {timeout} must be above 0 s, and max_retries {max_retries} at least 0"
            )
        self.name = self.model = model
        self.instruction, self.temperature = instruction, temperature
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        # OpenAI's own models refuse the old name of the limit, other servers may not know the new.
        self._limit_key = "max_tokens" if base_url else "max_completion_tokens"
        self._body = dict(body or {})
        self._client_options: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key or _default_key(base_url),
            "timeout": timeout,
            "max_retries": max_retries,
        }
        self._background = Background(self._client())
        self._endpoint = Endpoint(str(self._background.client.base_url), timeout, max_retries)

    def generate(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> str:
        """The answer in one response. Raises what `stream` raises."""
        future = self._alive().submit(self._answer(*self._ask(context, max_tokens, deadline)))
        try:
            return future.result()
        finally:
            future.cancel()  # interrupted: nobody waits for it any more

    async def agenerate(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> str:
        """`generate` without blocking the event loop; cancelling it calls the request off."""
        work = self._answer(*self._ask(context, max_tokens, deadline))
        return await asyncio.wrap_future(self._alive().submit(work))

    def stream(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> PythonGenerator[str]:
        """The answer as it arrives. Closing the generator closes the connection.

        Raises:
            InputError: `max_tokens` is not positive.
            EndpointError: A `GeneratorError`: the endpoint did not answer, after the retries.
            DeadlineExceededError: The deadline passed first.
        """
        return self._stream(*self._ask(context, max_tokens, deadline))

    async def astream(
        self, context: Context, *, max_tokens: int = MAX_TOKENS, deadline: Deadline | None = None
    ) -> AsyncIterator[str]:
        """`stream` without blocking the event loop."""
        request, due = self._ask(context, max_tokens, deadline)
        loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def hand_over(piece: str | None) -> None:
            with suppress(RuntimeError):  # the caller's loop is closed: nobody listens
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        future = self._alive().submit(self._produce(request, due, hand_over))
        future.add_done_callback(lambda _: hand_over(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Close the connections and call off what is under way; a later request opens new ones."""
        self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self, context: Context, max_tokens: int, deadline: Deadline | None
    ) -> tuple[dict[str, Any], Deadline]:
        """The request, checked before anything is sent."""
        if max_tokens < 1:
            raise InputError(f"max_tokens is {max_tokens}; give at least 1")
        due = deadline or Deadline()
        due.check()
        request = {
            "model": self.model,
            "messages": [
                {**message, "content": _sendable(message["content"])}
                for message in chat_messages(context, instruction=self.instruction)
            ],
            self._limit_key: max_tokens,
            "extra_body": self._body,
        }
        if self.temperature is not None:
            request["temperature"] = self.temperature
        return request, due

    async def _answer(self, request: dict[str, Any], deadline: Deadline) -> str:
        with self._endpoint.faults(deadline.seconds):
            async with asyncio.timeout(deadline.left()):
                completions = self._background.client.chat.completions
                reply = await completions.create(**request)
            choice = reply.choices[0]
            return self._checked(choice.message.content, choice.finish_reason)

    def _stream(self, request: dict[str, Any], deadline: Deadline) -> PythonGenerator[str]:
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        future = self._alive().submit(self._produce(request, deadline, pieces.put))
        future.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                yield piece
            future.result()
        finally:
            future.cancel()

    async def _produce(
        self, request: dict[str, Any], deadline: Deadline, emit: Callable[[str], None]
    ) -> None:
        said, reason = "", None
        with self._endpoint.faults(deadline.seconds):
            async with asyncio.timeout(deadline.left()):
                completions = self._background.client.chat.completions
                async with await completions.create(**request, stream=True) as chunks:
                    async for chunk in chunks:
                        deadline.check()
                        for choice in chunk.choices[:1]:
                            reason = choice.finish_reason or reason
                            if piece := choice.delta.content:
                                said = piece
                                emit(piece)
            self._checked(said or None, reason)

    def _checked(self, text: str | None, reason: str | None) -> str:
        if not text and reason == "length":
            raise EndpointError(
                f"{self.model} used up max_tokens before its answer began; raise max_tokens"
            )
        if text is None and reason != "stop":
            raise EndpointError(f"{self.model} sent no text (finish_reason: {reason})")
        return text or ""

    def _client(self) -> Any:
        try:
            from openai import AsyncOpenAI
        except ImportError as error:
            raise MissingExtraError("openai", "generators") from error
        return AsyncOpenAI(**self._client_options)

    def _alive(self) -> Background:
        # Closed before, or forked off: a thread does not come along into the child process.
        if not self._background.alive:
            self._background = Background(self._client())
        return self._background


def _default_key(base_url: str | None) -> str:
    key = os.environ.get("OPENAI_API_KEY") or (NO_KEY if base_url else None)
    if key is None:
        raise InputError("there is no key for OpenAI; set OPENAI_API_KEY or pass api_key=...")
    return key


def _sendable(text: str) -> str:
    """Without control markers, and without lone surrogates, which JSON over UTF-8 cannot carry."""
    return LONE_SURROGATE.sub("\ufffd", defuse(text))
