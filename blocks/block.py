"""Blocks: passages encoded after the head, blind to each other, content-addressed and immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One passage, or one piece of a passage longer than the proxy's window.

    Attributes:
        key: Content address: model, dtype, head, probed heads, token ids and unit layout.
        ids: Token ids, shape (tokens,).
        slots: What each token belongs to, shape (tokens,): 0 is the title line, u + 1 is unit u of
            this block.
        keys: Keys after RoPE at positions counted from the end of the head, shape
            (layers, kv_heads, tokens, head_dim), for the layers up to the reading depth.
        values: Values, shape (layers - 1, kv_heads, tokens, head_dim): the deepest layer is only
            looked at.
        baseline: Attention mass of the content-free query, shape (heads, units + 2): title, units,
            and last the head. Depends on this block alone, therefore it is kept with it.
    """

    key: str
    ids: NDArray[np.int64]
    slots: NDArray[np.int64]
    keys: torch.Tensor
    values: torch.Tensor
    baseline: NDArray[np.float32]

    @property
    def units(self) -> int:
        """Number of units in this block."""
        columns: int = self.baseline.shape[1]
        return columns - 2

    @property
    def nbytes(self) -> int:
        """Bytes held, tensors and arrays."""
        arrays = self.ids.nbytes + self.slots.nbytes + self.baseline.nbytes
        tensors: int = self.keys.nbytes + self.values.nbytes
        return tensors + arrays


@dataclass(frozen=True, slots=True, eq=False)
class Blocks(Sequence[Block]):
    """The blocks of a list of passages, in passage order.

    Attributes:
        blocks: All blocks; a passage longer than the window has several.
        owners: Index of the passage that each block belongs to, never decreasing.
        firsts: Index, within its passage, of the first unit that each block holds some of.
        units: Number of units of each passage.
    """

    blocks: tuple[Block, ...]
    owners: tuple[int, ...]
    firsts: tuple[int, ...]
    units: tuple[int, ...]

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | Sequence[Block]:
        return self.blocks[index]

    def __len__(self) -> int:
        return len(self.blocks)

    def of(self, passages: Sequence[int]) -> Blocks:
        """The blocks of some of the passages, in that order; nothing is copied."""
        at: dict[int, list[int]] = {}
        for i, owner in enumerate(self.owners):
            at.setdefault(owner, []).append(i)
        chosen = [(new, i) for new, old in enumerate(passages) for i in at.get(old, ())]
        return Blocks(
            tuple(self.blocks[i] for _, i in chosen),
            tuple(new for new, _ in chosen),
            firsts=tuple(self.firsts[i] for _, i in chosen),
            units=tuple(self.units[old] for old in passages),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held by all blocks together."""
        return sum(block.nbytes for block in self.blocks)
