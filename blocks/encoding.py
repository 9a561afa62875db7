"""Encoding passages into blocks: many packed into one forward, each blind to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import torch

from .attention import ForwardDone, attend_rows, attend_whole, probed, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from .reading import Head


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A block before it is encoded.

    Attributes:
        key: Its content address.
        ids: Token ids, shape (tokens,).
        slots: Slot of each token, shape (tokens,); see `Block.slots`.
        first: Index, within its passage, of the first unit that it holds some of.
        units: Number of units that it holds some of.
    """

    key: str
    ids: NDArray[np.int64]
    slots: NDArray[np.int64]
    first: int
    units: int

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Drafts(Sequence[Draft]):
    """The drafts of a list of passages, in passage order; the fields are those of `Blocks`."""

    drafts: tuple[Draft, ...]
    owners: tuple[int, ...]
    firsts: tuple[int, ...]
    units: tuple[int, ...]

    @overload
    def __getitem__(self, index: int) -> Draft: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Draft]: ...
    def __getitem__(self, index: int | slice) -> Draft | Sequence[Draft]:
        return self.drafts[index]

    def __len__(self) -> int:
        return len(self.drafts)


def batches(drafts: Sequence[Draft], extra: int, max_tokens: int) -> Iterator[list[Draft]]:
    """Pack drafts, in order, into batches of `max_tokens` rows; a longer draft goes alone."""
    batch: list[Draft] = []
    rows = 0
    for draft in drafts:
        if batch and rows + len(draft) + extra > max_tokens:
            yield batch
            batch, rows = [], 0
        batch.append(draft)
        rows += len(draft) + extra
    if batch:
        yield batch


class EncodePlan:
    """Packed passages, each blind to the others and followed by the content-free query's rows.

    Args:
        lengths: Tokens of each passage.
        extra: Rows of the content-free query behind each of them.
        heads: The probed heads.
        depth: Layers to run.
        head_block: Keys and values of the head, each (layers, kv_heads, head, head_dim); None
            encodes the head itself.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        *,
        extra: int,
        heads: Sequence[Head],
        depth: int,
        head_block: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> None:
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        self._lengths, self._extra, self._depth = lengths, extra, depth
        self._heads, self._head = tuple(heads), head_block
        self._masks: dict[tuple[int, int | None], torch.Tensor] = {}
        # Attention of the content-free rows, per passage: (heads, head + tokens), mean over the
        # rows.
        self.baseline: list[list[torch.Tensor | None]] = [
            [None] * len(self._heads) for _ in lengths
        ]

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        scaling: float,
        window: int | None,
    ) -> torch.Tensor:
        """See `Plan.attend`."""
        self.keys.append(key)
        final = layer == self._depth - 1
        if not final:
            self.values.append(value)
        outputs = [torch.empty(0)] * len(self._lengths)
        for i, rows in enumerate(self._segments()):
            keys, values = key[:, rows], value[:, rows]
            if self._head is not None:
                keys = torch.cat([self._head[0][layer], keys], dim=1)
            mask = self._mask(rows.stop - rows.start, keys.shape[1], window, query.device)
            self._capture(i, layer, query[:, rows], keys, mask, scaling)
            if not final:
                if self._head is not None:
                    values = torch.cat([self._head[1][layer], values], dim=1)
                outputs[i] = attend_whole(query[:, rows], keys, values, mask, scaling)
        if final:
            raise ForwardDone
        return torch.cat(outputs, dim=1)

    def _segments(self) -> Iterator[slice]:
        start = 0
        for length in self._lengths:
            stop = start + length + self._extra
            yield slice(start, stop)
            start = stop

    def _mask(self, rows: int, keys: int, window: int | None, device: torch.device) -> torch.Tensor:
        if (rows, window) not in self._masks:
            # Keys stand before the rows by the length of the head: position of row i is keys -
            # rows + i.
            at = torch.arange(keys - rows, keys, device=device)
            seen = torch.arange(keys, device=device)
            self._masks[rows, window] = visible(at, seen, window)
        return self._masks[rows, window]

    def _capture(
        self,
        passage: int,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        mask: torch.Tensor,
        scaling: float,
    ) -> None:
        wanted = probed(self._heads, layer)
        if not wanted or not self._extra:
            return
        group = query.shape[0] // keys.shape[0]
        heads = [head for _, head in wanted]
        shared = keys[[head // group for head in heads]]
        rows, seen = query[heads, -self._extra :], mask[-self._extra :]
        weights, _ = attend_rows(rows, shared, None, seen, scaling)
        for (place, _), row in zip(wanted, weights.mean(1), strict=True):
            self.baseline[passage][place] = row[: -self._extra]
