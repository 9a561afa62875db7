"""The proxy: a small decoder that encodes passages into blocks and reads a query against them."""

from __future__ import annotations

import copy
import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .attention import run
from .block import Block, Blocks
from .candidates import check_query
from .encoding import Draft, Drafts, EncodePlan, batches
from .errors import InputError
from .head import ReadingPrompt
from .long_query import fitting
from .memo import remembering
from .reading import Head, Reading, ReadPlan, Slots
from .segment import segment
from .store import BlockStore, MemoryStore
from .support import check_supported
from .tokens import TextTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .adapter import Adapter
    from .deadline import Deadline
    from .passage import Passage, Unit
    from .tokens import Tokens

MAX_BLOCK_TOKENS = 2048
"""Longest block. Longer passages are split: encoding stays linear in the length of the text."""

MAX_BATCH_TOKENS = 1024
"""Rows in one packed forward. More is not faster on a CPU, and costs activation memory."""

MAX_TITLE_SHARE = 4
"""The fourth part of a block is as much as a title gets; the rest of a longer one is not read."""

MAX_QUERY_SHARE = 0.25
"""Part of the window that a query may fill."""


class Proxy:
    """Encodes passages once, reads queries against them many times. Safe to use from many threads.

    Args:
        model: A loaded decoder with its language-model head, of an architecture that reading
            supports.
        tokenizer: Its fast tokenizer.
        name: What to call it in messages and results.
        heads: The heads to probe, as (layer, query head). The deepest one bounds the work: no
            layer above it is run.
        adapter: A reader trained for these weights; it reads, and what generates stays as it is.
        store: Where blocks are kept; in memory, bounded, by default.
        namespace: Keeps the blocks of one tenant apart from another's.

    Attributes:
        base: The weights as they were given: what generates.
        model: The weights that read: the base with the adapter, or the base itself.
        fingerprint: Identity of the weights that read.
        count_tokens: Tokens of a text in this model's vocabulary, control markers counted as text.

    Raises:
        UnsupportedModelError: The architecture cannot be read exactly; says why.
        InputError: A head does not exist in the model.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        heads: Sequence[Head],
        adapter: Adapter | None = None,
        store: BlockStore | None = None,
        namespace: str = "",
    ) -> None:
        check_supported(model, tokenizer, name)
        self.name, self.namespace = name, namespace
        self.base, self.adapter = model, adapter
        self.model = adapter.merged(model) if adapter else model
        self.heads = _check_heads(heads, model.config)
        self.depth = max(layer for layer, _ in self.heads) + 1
        self.tokenizer = TextTokenizer(tokenizer)
        self.count_tokens = remembering(self.tokenizer.count)
        self.prompt = ReadingPrompt.of(self.tokenizer)
        self.store = MemoryStore() if store is None else store
        self.fingerprint = reading_fingerprint(model, adapter)
        self.window = int(model.config.max_position_embeddings)
        self._max_block = min(MAX_BLOCK_TOKENS, self.window // 2)
        self._lock = threading.RLock()
        self._salt = self._content_salt(namespace)
        self._head = self._encode_head()

    def with_heads(self, heads: Sequence[Head]) -> Proxy:
        """The same weights, probing other heads, with a store of its own."""
        return Proxy(
            self.base,
            self.tokenizer.hf,
            name=self.name,
            heads=heads,
            adapter=self.adapter,
            namespace=self.namespace,
        )

    def with_store(self, store: BlockStore) -> Proxy:
        """The same proxy before another store; weights and lock are shared."""
        other = copy.copy(self)
        other.store = store
        return other

    def with_model(self, model: Any) -> Proxy:
        """Other weights of the same architecture, probing the same heads, with an own store."""
        return Proxy(
            model, self.tokenizer.hf, name=self.name, heads=self.heads, namespace=self.namespace
        )

    def encode(self, passages: Sequence[Passage], *, deadline: Deadline | None = None) -> Blocks:
        """Encode passages, taking from the store what was read before.

        Args:
            passages: What to encode; each is encoded after the head and blind to the others.
            deadline: Checked between batches; batches that are done stay in the store.

        Raises:
            DeadlineExceededError: The deadline passed first.
        """
        drafts = self.drafts(passages, deadline=deadline)
        keys = list(dict.fromkeys(draft.key for draft in drafts))
        with self._lock:  # so that two requests that miss the same passage encode it once
            known = dict(zip(keys, self.store.get_many(keys), strict=True))
            missing = [d for d in {d.key: d for d in drafts}.values() if known[d.key] is None]
            for batch in batches(missing, len(self.prompt.content_free), MAX_BATCH_TOKENS):
                if deadline is not None:
                    deadline.check()
                encoded = self._encode_batch(batch)
                self.store.put_many(encoded)
                known.update((block.key, block) for block in encoded)
        blocks = [known[draft.key] for draft in drafts]
        return Blocks(
            tuple(b for b in blocks if b is not None), drafts.owners, drafts.firsts, drafts.units
        )

    def drafts(self, passages: Sequence[Passage], *, deadline: Deadline | None = None) -> Drafts:
        """How passages are cut into blocks, before anything is encoded.

        Raises:
            DeadlineExceededError: The deadline passed first.
        """
        groups = [self._drafts(passage, deadline) for passage in passages]
        flat = tuple(draft for group in groups for draft in group)
        return Drafts(
            flat,
            owners=tuple(i for i, group in enumerate(groups) for _ in group),
            firsts=tuple(draft.first for draft in flat),
            units=tuple(len(segment(passage.text)) for passage in passages),
        )

    def fitting(self, query: str, answer_prefix: str = "") -> str:
        """The query, or its beginning and end where the whole would fill too much of the window."""
        return fitting(self.prompt, query, answer_prefix, int(self.window * MAX_QUERY_SHARE))

    def read(
        self,
        query: str,
        blocks: Blocks,
        *,
        answer_prefix: str = "",
        by_token: bool = False,
        deadline: Deadline | None = None,
    ) -> Reading:
        """Read a query against blocks: only the query's rows are computed.

        All blocks stand at the same positions, right after the head (overlaid), so that their
        order cannot matter.

        Args:
            query: The question.
            blocks: What to read it against.
            answer_prefix: How the answer starts; its rows follow the answer cue, and the last of
                them predicts how it goes on.
            by_token: Whether the reading keeps what each token got.
            deadline: Checked before the forward.

        Raises:
            EmptyQueryError: The query holds nothing to read for.
            InputError: The query alone would fill the proxy's window; see `fitting`.
            DeadlineExceededError: The deadline passed first.
        """
        check_query(query)
        ids = self.prompt.query(query, answer_prefix)
        if len(ids) > self.window * MAX_QUERY_SHARE:
            raise InputError(
                f"the query has {len(ids)} tokens; {self.name} can take "
                f"{int(self.window * MAX_QUERY_SHARE)}; shorten it"
            )
        if deadline is not None:
            deadline.check()
        start = len(self.prompt.head) + max((len(block.ids) for block in blocks), default=0)
        positions = torch.arange(start, start + len(ids), device=self.device)
        slots = Slots(blocks, len(self.prompt.head), len(ids))
        plan = ReadPlan(self.heads, self._head, list(blocks), slots, positions, by_token=by_token)
        with self._lock:
            run(self.model.base_model, ids, positions, plan)
        return plan.reading(blocks, slots)

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        device: torch.device = self.model.device
        return device

    def _drafts(self, passage: Passage, deadline: Deadline | None) -> list[Draft]:
        if deadline is not None:
            deadline.check()
        title, tokens = self.prompt.title(passage), self.prompt.text(passage.text)
        title = title[: self._max_block // MAX_TITLE_SHARE]
        units = segment(passage.text)
        of_token = _unit_of_token(tokens, units)
        room = self._max_block - len(title)
        return [
            self._draft(title, tokens.ids[part], of_token[part]) for part in _parts(of_token, room)
        ]

    def _draft(self, title: list[int], ids: Any, units: Any) -> Draft:
        # Units count from 1 within their block; -1 marks a passage without any.
        first = max(0, int(units[0]))
        all_ids = np.concatenate([np.asarray(title, dtype=np.int64), ids])
        slots = np.concatenate([np.zeros(len(title), dtype=np.int64), units - first + 1])
        count = int(units[-1]) - first + 1
        digest = blake2b(self._salt, digest_size=20)
        digest.update(all_ids.tobytes())
        digest.update(slots.tobytes())
        return Draft(digest.hexdigest(), all_ids, slots, first, count)

    def _encode_head(self) -> tuple[torch.Tensor, torch.Tensor]:
        ids = self.prompt.head
        plan = EncodePlan([len(ids)], extra=0, heads=self.heads, depth=self.depth, head_block=None)
        run(self.model.base_model, ids, torch.arange(len(ids), device=self.device), plan)
        return torch.stack(plan.keys), _stack_values(plan)

    def _encode_batch(self, batch: list[Draft]) -> list[Block]:
        query = self.prompt.content_free
        lengths = [len(draft) for draft in batch]
        plan = EncodePlan(
            lengths, extra=len(query), heads=self.heads, depth=self.depth, head_block=self._head
        )
        ids = [i for draft in batch for i in (*draft.ids.tolist(), *query)]
        start = len(self.prompt.head)
        positions = torch.cat([torch.arange(start, start + n + len(query)) for n in lengths])
        run(self.model.base_model, ids, positions.to(self.device), plan)
        return list(_blocks(batch, plan, len(query), start))

    def _content_salt(self, namespace: str) -> bytes:
        parts = (
            self.fingerprint,
            str(self.model.dtype),
            self.device.type,
            self.prompt.head,
            self.prompt.content_free,
            self.heads,
            namespace,
        )
        return repr(parts).encode("utf-8", "surrogatepass")


def reading_fingerprint(model: Any, adapter: Adapter | None) -> str:
    """Identity of the weights that read: the model's, and the adapter's behind it."""
    return weights_fingerprint(model) + (f"+{adapter.digest}" if adapter else "")


def weights_fingerprint(model: Any) -> str:
    """Identity of a model's weights, the same on every device, in float32 and in bfloat16.

    A digest over the shape and 32 evenly spaced elements of every parameter, rounded to bfloat16.
    """
    digest = blake2b(digest_size=16)
    config = model.config
    digest.update(f"{config.model_type}/{getattr(config, 'rope_parameters', None)}".encode())
    for name, weight in sorted(model.named_parameters()):
        flat = weight.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // 32)][:32].to("cpu", torch.bfloat16)
        digest.update(f"{name}{tuple(weight.shape)}".encode())
        digest.update(sample.contiguous().view(torch.int16).numpy().tobytes())
    return digest.hexdigest()


def _check_heads(heads: Sequence[Head], config: Any) -> tuple[Head, ...]:
    layers, width = config.num_hidden_layers, config.num_attention_heads
    if not heads:
        raise InputError("no heads to probe; give at least one (layer, head)")
    for layer, head in heads:
        if not (0 <= layer < layers and 0 <= head < width):
            raise InputError(
                f"head {(layer, head)} does not exist; the model has {layers} layers of {width} "
                "heads"
            )
    return tuple((int(layer), int(head)) for layer, head in heads)


def _unit_of_token(tokens: Tokens, units: Sequence[Unit]) -> Any:
    # A token belongs to the unit of its first visible character; " the" after a sentence belongs
    # to the next one.
    ends = np.array([unit.end for unit in units], dtype=np.int64)
    if not len(ends):
        return np.zeros(len(tokens), dtype=np.int64) - 1
    last = np.maximum(tokens.ends - 1, tokens.starts)
    return np.minimum(np.searchsorted(ends, last, side="right"), len(ends) - 1)


def _parts(of_token: Any, room: int) -> Iterator[slice]:
    """Cut a passage's tokens at unit boundaries into parts of at most `room` tokens."""
    start = 0
    while len(of_token) - start > room:
        stop = int(np.searchsorted(of_token, of_token[start + room], side="left"))
        stop = stop if stop > start else start + room
        yield slice(start, stop)
        start = stop
    yield slice(start, len(of_token))


def _stack_values(plan: EncodePlan) -> torch.Tensor:
    # A depth of one layer looks at keys alone.
    return torch.stack(plan.values) if plan.values else torch.stack(plan.keys)[:0]


def _blocks(batch: list[Draft], plan: EncodePlan, extra: int, head: int) -> Iterator[Block]:
    keys, values = torch.stack(plan.keys), _stack_values(plan)
    start = 0
    for draft, baseline in zip(batch, plan.baseline, strict=True):
        rows = slice(start, start + len(draft))
        yield Block(
            key=draft.key,
            ids=draft.ids,
            slots=draft.slots,
            keys=keys[:, :, rows].clone(),  # a view would keep the whole batch alive
            values=values[:, :, rows].clone(),
            baseline=_by_slot(baseline, draft, head),
        )
        start += len(draft) + extra


def _by_slot(baseline: list[torch.Tensor | None], draft: Draft, head: int) -> Any:
    rows = torch.stack([row for row in baseline if row is not None]).cpu().numpy()
    slots = np.concatenate([np.full(head, draft.units + 1), draft.slots])
    out = np.zeros((len(rows), draft.units + 2), dtype=np.float32)
    for target, row in zip(out, rows, strict=True):
        target += np.bincount(slots, weights=row, minlength=draft.units + 2)
    return out
