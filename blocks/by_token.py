"""What a reading saw on each token, for the methods that weigh tokens. Kept only on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .block import Blocks
    from .reading import Slots


@dataclass(frozen=True, slots=True, eq=False)
class TokenAttention:
    """Attention on each token of the blocks, per probed head.

    Attributes:
        ids: Id of each token, shape (tokens,).
        passages: Passage of each token, shape (tokens,), never decreasing.
        units: Unit of each token, over all passages, -1 in a title line: (tokens,).
        mean: Attention averaged over the query rows: (heads, tokens).
        last: Attention of the last query row: (heads, tokens).
        last_head: What the last query row left on the shared head: (heads,).
    """

    ids: NDArray[np.int64]
    passages: NDArray[np.int64]
    units: NDArray[np.int64]
    mean: NDArray[np.float32]
    last: NDArray[np.float32]
    last_head: NDArray[np.float32]


class TokenSums:
    """Collects it, turn by turn of query rows.

    Args:
        heads: Number of probed heads.
        keys: Which keys of the reading are the blocks'; those before them are the head's.
        device: Where to sum.
    """

    def __init__(self, heads: int, keys: slice, device: torch.device) -> None:
        self._keys = keys
        self._mean = torch.zeros(heads, keys.stop - keys.start, device=device)
        self._last = torch.zeros_like(self._mean)
        self._last_head = torch.zeros(heads, device=device)

    def add(self, places: list[int], weights: torch.Tensor, rows: int) -> None:
        """Take in the weights (heads, some of all `rows` rows, keys) of the heads at `places`."""
        self._mean[places] += weights[..., self._keys].sum(1) / rows
        self._last[places] = weights[:, -1, self._keys]
        self._last_head[places] = weights[:, -1, : self._keys.start].sum(-1)

    def attention(self, blocks: Blocks, slots: Slots) -> TokenAttention:
        """What was collected, as plain arrays."""
        lengths = [len(block.ids) for block in blocks]
        of_key = slots.of_key[self._keys]
        return TokenAttention(
            ids=np.concatenate([block.ids for block in blocks]),
            passages=np.repeat(np.array(blocks.owners, dtype=np.int64), lengths),
            units=np.where(of_key < slots.units, of_key, -1),
            mean=self._mean.cpu().numpy(),
            last=self._last.cpu().numpy(),
            last_head=self._last_head.cpu().numpy(),
        )
