"""The one-liners: `foveate.compress(query, passages, budget=...)`."""

from __future__ import annotations

import asyncio
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .engine import Engine, Options
from .render import Style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foveate.blocks.conversation import Query
    from foveate.blocks.counting import TokenCounter
    from foveate.blocks.proxy import Proxy
    from foveate.blocks.store import BlockStore
    from foveate.compressors.base import Scorer
    from foveate.compressors.budget import Budget
    from foveate.compressors.keep import Keep
    from foveate.reorder.base import Orderer

    from .context import Context
    from .engine import PassageLike, Pin


TOKENIZER = "tokenizer.json"


def compress(
    query: Query,
    passages: Iterable[PassageLike],
    *,
    budget: Budget = 0.5,
    scorer: str | Scorer = "fused",
    orderer: str | Orderer = "original",
    tokenizer: Any = None,
    pins: Sequence[Pin] = (),
    keep: Sequence[Keep] = (),
    timeout: float | None = None,
    titles: bool = True,
    numbered: bool = False,
    proxy: Proxy | str | Path = "default",
) -> Context:
    """Cut passages down to what the query needs, verbatim, within a hard token budget.

    Args:
        query: The question, or a conversation that ends with it, as OpenAI's messages: its last
            question is read with what it refers to, and `Context.query` says how.
        passages: Strings, `Passage`s, or mappings with `text` and optionally `id`, `title`,
            `metadata`.
        budget: Tokens (int), share of the input (float in (0, 1]), or `Adaptive`.
        scorer: What decides: "fused" (default), "retrieval-heads", "lexical", or a `Scorer`.
        orderer: Where passages stand: "original" (default), "score", "ends-first",
            "attention-sorting", or an `Orderer`.
        tokenizer: What counts tokens: a tiktoken name, a Hugging Face tokenizer, a function; None
            is the proxy's own.
        pins: What must stay: a passage id, or (passage id, start, end) in characters.
        keep: What must stay wherever it stands: "numbers", "dates", "urls", "emails", "code",
            "quotes", "identifiers", '/a pattern/', or compiled patterns.
        timeout: Seconds until an answer is due. Past it, and on any fault of the proxy, BM25
            answers within the same budget and `Context.degraded` says so.
        titles: Put each passage's title above it.
        numbered: Put `[n]` before each passage, for citation.
        proxy: A loaded `Proxy`, or what `load_proxy` takes. Loaded once per process.

    Raises:
        InputError: The input cannot be used; the message says what is allowed.
        ModelNotFoundError: The proxy is not on this machine; run `foveate models pull`.
    """
    options = Options(budget, tokenizer, tuple(pins), timeout, Style(titles, numbered), tuple(keep))
    return default_engine(proxy).compress(query, passages, options, scorer=scorer, orderer=orderer)


async def acompress(query: Query, passages: Iterable[PassageLike], **options: Any) -> Context:
    """`compress` without blocking the event loop; takes the same keywords."""
    return await asyncio.to_thread(compress, query, passages, **options)


def load_proxy(
    model: str | Path = "default",
    *,
    adapter: str | Path | None = "auto",
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    store: BlockStore | None = None,
    namespace: str = "",
) -> Proxy:
    """Load a decoder as proxy, probing the heads that were chosen for it.

    Args:
        model: "default", another catalogue name, a Hugging Face id, a folder, or a GGUF file.
        adapter: The reader that is merged into it: "auto" (one that was trained for these weights,
            if there is one), a folder, or None for the model as it is.
        device: "auto" (cuda, mps, cpu) or a torch device.
        dtype: "auto" (bfloat16 where the device computes in it) or a torch dtype name.
        revision: Revision of a Hugging Face id.
        store: Where its blocks are kept; in memory by default.
        namespace: Keeps one tenant's blocks apart from another's.

    Raises:
        ModelNotFoundError: It is not on this machine.
        UnsupportedModelError: It cannot be read exactly; says why.
        InputError: The adapter cannot be used with this model.
    """
    from foveate.blocks.adapter import load_adapter
    from foveate.blocks.loading import load_decoder
    from foveate.blocks.proxy import Proxy, reading_fingerprint, weights_fingerprint
    from foveate.compressors import probes, readers

    from .models import resolve

    decoder = load_decoder(resolve(model), device=device, dtype=dtype, revision=revision)
    base = weights_fingerprint(decoder.model)
    reader = readers.find(base) if adapter == "auto" else adapter and Path(adapter)
    trained = load_adapter(reader) if reader else None
    fingerprint = reading_fingerprint(decoder.model, trained)
    # Heads that were calibrated for what reads go before those that the reader was trained for.
    return Proxy(
        decoder.model,
        decoder.tokenizer,
        name=str(model),
        heads=(
            probes.heads_for(fingerprint, decoder.model.config, str(model))
            if not reader or probes.find(fingerprint)
            else readers.heads_of(reader)
        ),
        adapter=trained,
        store=store,
        namespace=namespace,
    )


def load_counter(model: str | Path = "default") -> TokenCounter:
    """What counts tokens as the proxy of that name does, without its weights where they lie apart.

    Raises what `load_proxy` raises.
    """
    from foveate.blocks.counting import file_counter

    from .models import resolve

    found = resolve(model)
    if isinstance(found, Path) and (found / TOKENIZER).is_file():
        return file_counter(found / TOKENIZER)
    return load_proxy(model).count_tokens


def default_engine(proxy: Proxy | str | Path = "default") -> Engine:
    """The engine that `compress` uses; a model that is named is loaded once per process."""
    from foveate.blocks.proxy import Proxy

    if isinstance(proxy, Proxy):
        return Engine(proxy)
    with _loading:  # so that callers who come together load one model, not one each
        return _shared_engine(str(proxy))


_loading = threading.Lock()


@lru_cache(maxsize=4)
def _shared_engine(model: str) -> Engine:
    return Engine(load_proxy(model))
