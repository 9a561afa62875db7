"""Training a reader: an adapter that makes a model's chosen heads look at evidence.

LoRA (Hu et al., https://arxiv.org/abs/2106.09685) on the attention projections up to the reading
depth, by PEFT. The rate warms up, then decays to 0 by a cosine: at a constant rate the heads are
best after a few hundred records and worse after. Every so often the ranking of records held back
is measured, and the adapter of the best moment is the one that is kept.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError
from foveate.blocks.loading import best_dtype
from foveate.compressors.hops import second_query

from .checkpoint import Checkpoint, Progressed, lora
from .forward import unit_mass
from .loss import Targets, contrast, targets
from .sampling import cut, fitting, schedule
from .validation import average_precision

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from foveate.blocks.progress import Progress
    from foveate.blocks.proxy import Proxy
    from foveate.compressors.examples import Example

MAX_SEEN = 2
WRONG_LOOKS = 0.25
"""Share of them in which one of the units shown is none of the evidence."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a reader is trained.

    Attributes:
        steps: Records seen.
        batch: Records an update.
        rate: Highest learning rate.
        warmup: Share of the updates in which the rate rises.
        rank: Rank of the adapter; its scale is 2.
        passages: Most passages a record is cut to.
        tokens: Most tokens a record is cut to, unless its evidence has more.
        second_hops: Share of the steps, of records with two units of evidence or more, in which the
            question comes with some of it, and the rest is asked for.
        every: Steps between two validations; each leaves a checkpoint.
        seed: Of everything that is drawn.
    """

    steps: int = 600
    batch: int = 4
    rate: float = 1e-3
    warmup: float = 0.05
    rank: int = 8
    passages: int = 5
    tokens: int = 800
    second_hops: float = 0.0
    every: int = 100
    seed: int = 0


def train_reader(
    proxy: Proxy,
    sets: Sequence[Sequence[Example]],
    held_back: Sequence[Example],
    folder: Path,
    recipe: Recipe | None = None,
    *,
    progress: Progress | None = None,
) -> Progressed:
    """Train an adapter for a proxy's heads; stop at any time and call again to go on.

    Args:
        proxy: The model, as it is without an adapter, and the heads to train.
        sets: Training sets; small ones are drawn from as eagerly as large ones, almost.
        held_back: Records by which the best moment is chosen.
        folder: Where checkpoints lie, and at last the adapter (`folder / "best"`).
        recipe: How to train.
        progress: Told the stage and how far it is.

    Returns:
        The course of the training, with the step whose adapter is in `folder / "best"`.

    Raises:
        InputError: There is nothing to train or to validate on, or the checkpoints in `folder` are
            of another training.
    """
    recipe = recipe or Recipe()
    sets = [fitting(each, recipe.tokens, proxy.count_tokens) for each in sets]
    if not held_back or not sets or not all(sets):
        raise InputError(
            "training needs records, and others held back; one of the sets is empty, or holds only "
            f"records whose evidence takes more than {recipe.tokens} tokens"
        )
    torch.manual_seed(recipe.seed)
    model = _adapted(proxy, recipe)
    optimizer = torch.optim.AdamW(_trained(model), lr=recipe.rate, weight_decay=0.01)
    checkpoint = Checkpoint(folder, model, optimizer, proxy, asdict(recipe))
    state = checkpoint.resume()
    plan = schedule([len(s) for s in sets], recipe.steps, np.random.default_rng(recipe.seed))
    if not state.curve:
        state = state.measured(0, average_precision(proxy, model, held_back), None)
        checkpoint.save(state)
    losses: list[float] = []
    for step in range(state.step, recipe.steps):
        if progress is not None:
            progress("train", step, recipe.steps)
        which, record = plan[step]
        loss = _step(model, proxy, sets[which][record], step, recipe)
        losses += [] if loss is None else [loss]
        if (step + 1) % recipe.batch == 0:
            _update(optimizer, model, step, recipe)
        if (step + 1) % recipe.every == 0 or step + 1 == recipe.steps:
            score = average_precision(proxy, model, held_back)
            state = state.measured(step + 1, score, float(np.mean(losses)) if losses else None)
            checkpoint.save(state)
            losses = []
    return state


def rate_at(step: int, recipe: Recipe) -> float:
    """The learning rate: a linear rise, then a cosine down to 0."""
    risen = recipe.warmup * recipe.steps
    if step < risen:
        return recipe.rate * (step + 1) / (risen + 1)
    done = (step - risen) / max(1.0, recipe.steps - risen)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def _step(model: Any, proxy: Proxy, example: Example, step: int, recipe: Recipe) -> float | None:
    """Gradients of one record; None if it has nothing to tell apart."""
    rng = np.random.default_rng((recipe.seed, step))
    example = cut(
        example, rng, passages=recipe.passages, tokens=recipe.tokens, count=proxy.count_tokens
    )
    candidates = Candidates(example.question, example.passages)
    wanted = targets(candidates, example)
    seen = _first_hop(wanted, rng, recipe.second_hops)
    if not wanted.without(seen).empty:
        wanted = wanted.without(seen)
    if wanted.empty:
        return None
    query = second_query(candidates, seen)
    device = proxy.device.type
    with torch.autocast(device, torch.bfloat16, enabled=best_dtype(device) is torch.bfloat16):
        mass = unit_mass(model.base_model, proxy, candidates, query)
    loss = contrast(mass.float(), wanted)
    torch.autograd.backward(loss / recipe.batch)
    return float(loss.detach())


def _first_hop(wanted: Targets, rng: np.random.Generator, share: float) -> list[int]:
    """Units that a first look may have found, in some of the steps: mostly evidence, not always."""
    if rng.random() >= share or len(wanted.positives) < 2:
        return []
    right = [
        int(rng.choice(wanted.positives[i])) for i in rng.permutation(len(wanted.positives))[:-1]
    ]
    seen = right[: int(rng.integers(1, MAX_SEEN + 1))]
    if len(wanted.negatives) and rng.random() < WRONG_LOOKS:
        seen[-1] = int(rng.choice(wanted.negatives))
    return seen


def _update(optimizer: torch.optim.Optimizer, model: Any, step: int, recipe: Recipe) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate_at(step, recipe)
    torch.nn.utils.clip_grad_norm_(_trained(model), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def _adapted(proxy: Proxy, recipe: Recipe) -> Any:
    """A copy of the proxy's model with a fresh adapter; what is not trained is shared."""
    from foveate.blocks.adapter import shared_copy
    from foveate.blocks.errors import MissingExtraError

    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingExtraError("peft", "train") from error
    model = shared_copy(proxy.model).float()
    config = LoraConfig(**lora(asdict(recipe)), layers_to_transform=list(range(proxy.depth)))
    return inject_adapter_in_model(config, model)


def _trained(model: Any) -> list[torch.nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]
