"""The attention function that Foveate registers with transformers, and the forward that drives it.

A plan says, layer by layer, what the rows at hand attend to. It travels as a keyword argument of
the model's forward (transformers hands unknown ones down to the attention function), so nothing
global is switched, two threads can run two plans, and without a plan the same model is an ordinary
SDPA model.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.nn.functional as F

from .errors import UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reading import Head

NAME = "foveate"

UNREADABLE = ("s_aux", "softcap", "position_bias")
"""What some models add to their attention: learned sinks, soft caps, biases."""


class Plan(Protocol):
    """What the rows of one forward attend to."""

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
        """Attention of one layer over packed rows, after RoPE.

        Args:
            layer: Index of the layer.
            query: (heads, rows, head_dim).
            key: (kv_heads, rows, head_dim).
            value: (kv_heads, rows, head_dim).
            scaling: Factor on the logits.
            window: Width of a sliding-window layer in positions; None where attention is full.

        Returns:
            (heads, rows, head_dim).

        Raises:
            ForwardDone: Nothing above this layer is wanted.
        """
        ...


class ForwardDone(Exception):
    """Raised by a plan at the deepest layer it needs: the early exit, for any architecture."""


@functools.cache
def register() -> str:
    """Make the function known to transformers, once; gives its name for `attn_implementation`."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return NAME


def run(
    model: Any,
    ids: Sequence[int],
    positions: torch.Tensor,
    plan: Plan,
    *,
    gradients: bool = False,
) -> None:
    """One forward of packed rows under a plan; ends at the plan's deepest layer.

    Args:
        model: The decoder without its language-model head.
        ids: Token ids of the rows, shape (rows,).
        positions: Position of each row, shape (rows,).
        plan: What they attend to.
        gradients: Keep what a backward pass needs; only training does.
    """
    device = positions.device
    # A four-dimensional mask is passed through as it is; the plan needs none, so one element will
    # do.
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)
    with torch.inference_mode(not gradients):
        try:
            model(
                input_ids=torch.tensor([ids], device=device),
                position_ids=positions[None],
                attention_mask=mask,
                use_cache=False,
                foveate_plan=plan,
            )
        except ForwardDone:
            return


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    foveate_plan: Plan | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    if foveate_plan is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        out: torch.Tensor = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )[0]
        return out, None
    odd = sorted(name for name in UNREADABLE if kwargs.get(name) is not None)
    if odd:
        raise UnsupportedModelError(
            type(module).__name__, f"its attention takes {', '.join(odd)}, which a reading does not"
        )
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    attended = foveate_plan.attend(
        module.layer_idx, query[0], key[0], value[0], scaling=scaling, window=sliding_window
    )
    return attended.transpose(0, 1)[None].contiguous(), None


def probed(heads: Sequence[Head], layer: int) -> list[tuple[int, int]]:
    """Which of the probed heads are in a layer: (place among the probed heads, head)."""
    return [(place, head) for place, (at, head) in enumerate(heads) if at == layer]


def visible(rows: torch.Tensor, keys: torch.Tensor, window: int | None) -> torch.Tensor:
    """Whether each row may look at each key by their positions: (rows, keys)."""
    seen = keys <= rows[:, None]
    return seen if window is None else seen & (keys > rows[:, None] - window)


def attend_whole(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scaling: float
) -> torch.Tensor:
    """Output of an attention whose weights nobody wants; shapes as in `attend_rows`."""
    group = query.shape[0] // key.shape[0]
    out = F.scaled_dot_product_attention(
        query[None],
        key.repeat_interleave(group, 0)[None],
        value.repeat_interleave(group, 0)[None],
        attn_mask=mask,
        scale=scaling,
    )
    return out[0]


def attend_rows(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor | None,
    visible: torch.Tensor,
    scaling: float,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Softmax rows, and the output they give: memory is rows x keys, never keys x keys.

    Args:
        query: (heads, rows, head_dim).
        key: (kv_heads, keys, head_dim); heads share them in groups, none is repeated in memory.
        value: (kv_heads, keys, head_dim), or None if only the weights are wanted.
        visible: (rows, keys), True where a row may look.
        scaling: Factor on the logits.

    Returns:
        Weights (heads, rows, keys) in float32, output (heads, rows, head_dim) or None.
    """
    heads, rows, dim = query.shape
    grouped = query.reshape(key.shape[0], -1, dim)
    logits = torch.matmul(grouped, key.transpose(1, 2)).mul_(scaling)
    logits = logits.reshape(heads, rows, -1).masked_fill_(~visible, -torch.inf)
    weights = torch.softmax(logits, dim=-1, dtype=torch.float32)
    if value is None:
        return weights, None
    out = torch.matmul(weights.to(value.dtype).reshape(key.shape[0], grouped.shape[1], -1), value)
    return weights, out.reshape(heads, rows, -1)
