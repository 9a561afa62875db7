"""A reading: the attention of the query's rows over the blocks, reduced to units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from .attention import ForwardDone, attend_rows, probed, visible
from .by_token import TokenSums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .block import Block, Blocks
    from .by_token import TokenAttention
    from .encoding import Draft, Drafts

Head = tuple[int, int]
"""(layer, query head), both from 0."""

MAX_WEIGHTS = 8_000_000
"""Attention weights held at one time; long queries, or long texts, go in turns of query rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Attention of the query's rows, per probed head, over units, title lines and head.

    Attributes:
        heads: The probed heads.
        mass: Attention on each unit, summed over its tokens and averaged over the query rows:
            (heads, units).
        peak: The same for the one query row that looked most: (heads, units).
        last: The same for the last query row, which predicts the answer's first token: (heads,
            units).
        titles: Mean attention on each passage's title line: (heads, passages).
        head_share: Mean attention that fell on the shared head, "nothing here": (heads,).
        query_share: Mean attention that the query's rows kept for each other: (heads,).
        baseline: What the content-free query gave each unit, read against its block alone: (heads,
            units).
        baseline_titles: The same for title lines: (heads, passages).
        baseline_head: What it left on the shared head, per unit's block: (heads, units).
        tokens: Tokens of each unit: (units,).
        owners: Passage of each unit: (units,).
        by_token: The same on each token, if it was asked for.

    For each head, `mass`, `titles`, `head_share` and `query_share` sum to 1.
    """

    heads: tuple[Head, ...]
    mass: NDArray[np.float32]
    peak: NDArray[np.float32]
    last: NDArray[np.float32]
    titles: NDArray[np.float32]
    head_share: NDArray[np.float32]
    query_share: NDArray[np.float32]
    baseline: NDArray[np.float32]
    baseline_titles: NDArray[np.float32]
    baseline_head: NDArray[np.float32]
    tokens: NDArray[np.int64]
    owners: NDArray[np.int64]
    by_token: TokenAttention | None = None


class Slots:
    """Where each key of a reading belongs: units, then title lines, the head, the query.

    Args:
        blocks: The blocks that are read, encoded or not.
        head: Tokens of the head.
        rows: Tokens of the query.
    """

    def __init__(self, blocks: Blocks | Drafts, head: int, rows: int) -> None:
        counts = np.asarray(blocks.units, dtype=np.int64)
        self.units, self.passages = int(counts.sum()), len(counts)
        self.owners = np.repeat(np.arange(self.passages), counts)
        self.head, self.query = self.units + self.passages, self.units + self.passages + 1
        self.count = self.query + 1
        self.firsts = (np.cumsum(counts) - counts)[list(blocks.owners)] + list(blocks.firsts)
        cut: Sequence[Block | Draft] = blocks
        parts = [
            np.where(block.slots == 0, self.units + owner, first + block.slots - 1)
            for block, owner, first in zip(cut, blocks.owners, self.firsts, strict=True)
        ]
        self.of_key = np.concatenate([np.full(head, self.head), *parts, np.full(rows, self.query)])
        self.tokens = np.bincount(self.of_key, minlength=self.count)[: self.units]
        # Keys of one slot stand together, but for what blocks of one split passage share.
        self.run_ends = np.flatnonzero(np.diff(self.of_key, append=-1)) + 1
        self.of_run = self.of_key[self.run_ends - 1]


class ReadPlan:
    """Query rows over the head, all blocks (overlaid: they share positions) and themselves.

    Args:
        heads: The probed heads; the deepest one's layer ends the forward.
        head_keys: Keys of the head, (layers, kv_heads, head, head_dim).
        head_values: Values of the head.
        head_positions: Positions of the head.
        blocks: The blocks to read.
        slots: Where each key belongs.
        positions: Position of each query row.
        by_token: Whether to keep what each token got.
    """

    def __init__(
        self,
        heads: Sequence[Head],
        head_block: tuple[torch.Tensor, torch.Tensor],
        blocks: Sequence[Block],
        slots: Slots,
        positions: torch.Tensor,
        *,
        by_token: bool = False,
    ) -> None:
        self.heads = tuple(heads)
        self.depth = max(layer for layer, _ in heads) + 1
        self._keys = [head_block[0], *(block.keys for block in blocks)]
        self._values = [head_block[1], *(block.values for block in blocks)]
        # Sums run in float64, which Apple's GPUs lack.
        self._sums_on = torch.device("cpu") if positions.device.type == "mps" else positions.device
        self._run_ends = torch.from_numpy(slots.run_ends - 1).to(self._sums_on)
        self._of_run = torch.from_numpy(slots.of_run).to(self._sums_on)
        self._count = slots.count
        head = head_block[0].shape[2]
        local = [torch.arange(block.keys.shape[2], device=positions.device) for block in blocks]
        self._positions = positions
        self._key_positions = torch.cat(
            [torch.arange(head, device=positions.device), *(head + p for p in local), positions]
        )
        shape = (len(self.heads), slots.count)
        self.mean = torch.zeros(shape, device=self._sums_on)
        self.peak = torch.zeros(shape, device=self._sums_on)
        self.last = torch.zeros(shape, device=self._sums_on)
        tokens = slice(head, len(slots.of_key) - len(positions))
        self._tokens = TokenSums(len(self.heads), tokens, self._sums_on) if by_token else None

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
        final = layer == self.depth - 1
        keys = torch.cat([*(k[layer] for k in self._keys), key], dim=1)
        values = None if final else torch.cat([*(v[layer] for v in self._values), value], dim=1)
        wanted = probed(self.heads, layer)
        outputs = []
        turn = max(1, MAX_WEIGHTS // (query.shape[0] * keys.shape[1]))
        for start in range(0, query.shape[1], turn):
            rows = slice(start, start + turn)
            seen = visible(self._positions[rows], self._key_positions, window)
            weights, out = attend_rows(query[:, rows], keys, values, seen, scaling)
            self._reduce(weights, wanted, query.shape[1])
            outputs.append(out)
        if final:
            raise ForwardDone
        return torch.cat([out for out in outputs if out is not None], dim=1)

    def _reduce(self, weights: torch.Tensor, wanted: list[tuple[int, int]], rows: int) -> None:
        if not wanted:
            return
        places, heads = (list(column) for column in zip(*wanted, strict=True))
        wanted_weights = weights[heads].to(self._sums_on)
        if self._tokens is not None:
            self._tokens.add(places, wanted_weights, rows)
        by_slot = self._by_slot(wanted_weights)
        self.mean[places] += by_slot.sum(1) / rows
        self.peak[places] = torch.maximum(self.peak[places], by_slot.amax(1))
        self.last[places] = by_slot[:, -1]

    def _by_slot(self, weights: torch.Tensor) -> torch.Tensor:
        """Sum (heads, rows, keys) over the keys of each slot: (heads, rows, slots)."""
        totals = weights.cumsum(-1, dtype=torch.float64)[..., self._run_ends]
        sums = torch.diff(totals, prepend=totals.new_zeros(*totals.shape[:2], 1)).float()
        shape = (*sums.shape[:2], self._count)
        return torch.zeros(shape, device=sums.device).index_add_(2, self._of_run, sums)

    def reading(self, blocks: Blocks, slots: Slots) -> Reading:
        """What was captured, as plain arrays."""
        units, titles = slice(0, slots.units), slice(slots.units, slots.head)
        mean = self.mean.cpu().numpy()
        baseline, baseline_titles, baseline_head = _baselines(blocks, slots, len(self.heads))
        return Reading(
            heads=self.heads,
            mass=mean[:, units],
            peak=self.peak[:, units].cpu().numpy(),
            last=self.last[:, units].cpu().numpy(),
            titles=mean[:, titles],
            head_share=mean[:, slots.head],
            query_share=mean[:, slots.query],
            baseline=baseline,
            baseline_titles=baseline_titles,
            baseline_head=baseline_head,
            tokens=slots.tokens,
            owners=slots.owners,
            by_token=self._tokens.attention(blocks, slots) if self._tokens is not None else None,
        )


def _baselines(
    blocks: Blocks, slots: Slots, heads: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    units, head = (np.zeros((heads, slots.units), dtype=np.float32) for _ in range(2))
    titles = np.zeros((heads, slots.passages), dtype=np.float32)
    for block, owner, first in zip(blocks, blocks.owners, slots.firsts, strict=True):
        here = slice(first, first + block.units)
        titles[:, owner] += block.baseline[:, 0]
        units[:, here] += block.baseline[:, 1:-1]
        head[:, here] = block.baseline[:, -1:]
    return units, titles, head
