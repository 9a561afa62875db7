"""The slow oracle: eager attention over the whole prompt, with every weight in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from foveate.blocks.reading import Slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveate.blocks.block import Blocks
    from foveate.blocks.proxy import Proxy


@pytest.fixture(scope="session")
def oracle() -> SimpleNamespace:
    return SimpleNamespace(by_slot=by_slot, eager=eager)


def by_slot(
    proxy: Proxy, query: str, blocks: Blocks, *, window: int | None = None
) -> tuple[Any, Slots]:
    """Attention of the query rows, (heads, rows, slots), from one eager forward of the whole
    prompt."""
    head, rows = list(proxy.prompt.head), proxy.prompt.query(query)
    longest = max(len(block.ids) for block in blocks)
    ids, positions, segment = [*head], [*range(len(head))], [0] * len(head)
    for n, block in enumerate(blocks, start=1):
        ids += block.ids.tolist()
        positions += range(len(head), len(head) + len(block.ids))
        segment += [n] * len(block.ids)
    ids += rows
    positions += range(len(head) + longest, len(head) + longest + len(rows))
    segment += [-1] * len(rows)
    at = torch.tensor(segment)
    causal = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    allowed = causal & ((at == 0) | (at[:, None] == at) | (at[:, None] == -1))
    if window is not None:
        place = torch.tensor(positions)
        allowed &= place[:, None] - place < window
    mask = torch.zeros(1, 1, len(ids), len(ids)).masked_fill(
        ~allowed, torch.finfo(torch.float32).min
    )
    attentions = eager(proxy.model, ids, positions, mask)
    wanted = torch.stack([attentions[layer][0, h, -len(rows) :] for layer, h in proxy.heads])
    slots = Slots(blocks, len(head), len(rows))
    summed = np.zeros((*wanted.shape[:2], slots.count))
    for key, slot in enumerate(slots.of_key):
        summed[..., slot] += wanted[..., key].numpy()
    return summed, slots


def eager(
    model: Any, ids: Sequence[int], positions: Sequence[int], mask: torch.Tensor | None
) -> Any:
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return model(
                input_ids=torch.tensor([list(ids)]),
                position_ids=torch.tensor([list(positions)]),
                attention_mask=mask,
                use_cache=False,
                output_attentions=True,
            ).attentions
    finally:
        model.set_attn_implementation(before)
