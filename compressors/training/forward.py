"""The reading as one differentiable forward: head, blocks and query rows packed, masks as in use.

At inference the blocks come from a store and only the query's rows are computed; here gradients
must reach the weights that make the blocks, so that all rows run together. What each row sees, and
at which position, is the same.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch

from foveate.blocks.attention import (
    ForwardDone,
    attend_rows,
    attend_whole,
    probed,
    run,
    visible,
)
from foveate.blocks.reading import Slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.blocks.candidates import Candidates
    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Head


def unit_mass(model: Any, proxy: Proxy, candidates: Candidates, query: str) -> torch.Tensor:
    """Attention mass of the query's rows on each unit, per probed head, with gradients.

    Args:
        model: The decoder without its language-model head.
        proxy: Lays out the prompt; its own weights are not used.
        candidates: The units.
        query: What reads them.

    Returns:
        (heads, units), as `Reading.mass`.
    """
    drafts = proxy.drafts(candidates.passages)
    head, rows = proxy.prompt.head, proxy.prompt.query(query)
    slots = Slots(drafts, len(head), len(rows))
    plan = PackedPlan(proxy.heads, slots, [len(head), *map(len, drafts), len(rows)], proxy.device)
    ids = [*head, *(i for draft in drafts for i in draft.ids.tolist()), *rows]
    run(model, ids, plan.positions, plan, gradients=True)
    return plan.mass()


class PackedPlan:
    """The head, blocks blind to each other, and query rows that see all of it.

    Args:
        heads: The probed heads.
        slots: Where each key belongs.
        lengths: Rows of the head, of each block, of the query.
        device: Where the model runs.
    """

    def __init__(
        self, heads: Sequence[Head], slots: Slots, lengths: Sequence[int], device: torch.device
    ) -> None:
        self._heads = tuple(heads)
        self._depth = max(layer for layer, _ in heads) + 1
        self._units, self._count = slots.units, slots.count
        self._slots = torch.from_numpy(slots.of_key).to(device)
        self._rows = lengths[-1]
        self.positions = _positions(lengths).to(device)
        self._parts = _parts(lengths)
        self._masses: list[tuple[int, torch.Tensor]] = []

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
        if wanted := probed(self._heads, layer):
            self._look(wanted, query, key, scaling, window)
        if layer == self._depth - 1:
            raise ForwardDone
        outputs = [
            attend_whole(
                query[:, rows],
                _rows(key, seen),
                _rows(value, seen),
                self._visible(rows, seen, window),
                scaling,
            )
            for rows, seen in self._parts
        ]
        return torch.cat(outputs, dim=1)

    def mass(self) -> torch.Tensor:
        """Attention mass on each unit, (heads, units)."""
        by_place = dict(self._masses)
        return torch.stack([by_place[i] for i in range(len(self._heads))])[:, : self._units]

    def _look(
        self,
        wanted: list[tuple[int, int]],
        query: torch.Tensor,
        key: torch.Tensor,
        scaling: float,
        window: int | None,
    ) -> None:
        rows, seen = self._parts[-1]
        mask = self._visible(rows, seen, window)
        weights, _ = attend_rows(query[:, rows], _rows(key, seen), None, mask, scaling)
        for place, head in wanted:
            mean = weights[head].mean(0)
            by_slot = mean.new_zeros(self._count).index_add(0, self._slots, mean)
            self._masses.append((place, by_slot))

    def _visible(self, rows: slice, seen: tuple[slice, ...], window: int | None) -> torch.Tensor:
        """(rows, keys): overlaid positions order a part's own rows as they order all others."""
        keys = torch.cat([self.positions[part] for part in seen])
        return visible(self.positions[rows], keys, window)


def _positions(lengths: Sequence[int]) -> torch.Tensor:
    """Overlaid: every block starts right after the head, the query after the longest block."""
    head, *blocks, rows = lengths
    start = head + max(blocks, default=0)
    parts = [torch.arange(head), *(torch.arange(head, head + n) for n in blocks)]
    return torch.cat([*parts, torch.arange(start, start + rows)])


def _parts(lengths: Sequence[int]) -> list[tuple[slice, tuple[slice, ...]]]:
    """For each part: its rows, and the rows of the keys that they may look at."""
    ends = list(itertools.accumulate(lengths))
    own = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    head = own[0]
    return [(head, (head,)), *((part, (head, part)) for part in own[1:-1]), (own[-1], tuple(own))]


def _rows(tensor: torch.Tensor, parts: tuple[slice, ...]) -> torch.Tensor:
    return torch.cat([tensor[:, part] for part in parts], dim=1)
