"""A trained reader: low-rank changes to a model's attention, merged into a copy that reads.

W' = W + (alpha / r) B A: LoRA, https://arxiv.org/abs/2106.09685, equation 3, in PEFT's layout of
files. The copy shares every tensor that the adapter leaves alone with the model that it is made
from, so that one set of weights can both read and generate.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import torch

from .errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
"""Files of an adapter, as PEFT names them."""


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """Low-rank factors for some linear maps of a model.

    Attributes:
        factors: For each module's name, A (rank, inputs) and B (outputs, rank).
        scale: Factor on B A.
        digest: Identity of all this; part of every block's key.
    """

    factors: Mapping[str, tuple[torch.Tensor, torch.Tensor]]
    scale: float
    digest: str

    def merged(self, model: Any) -> Any:
        """A copy of a model with the adapter in its weights; the model is left as it is.

        Raises:
            InputError: The adapter was made for another model.
        """
        adapted = shared_copy(model)
        modules = dict(adapted.named_modules())
        for name, (a, b) in self.factors.items():
            weight = getattr(modules.get(name), "weight", None)
            if weight is None or tuple(weight.shape) != (b.shape[0], a.shape[1]):
                raise InputError(
                    f"the adapter changes {name} by {(b.shape[0], a.shape[1])}, which the model "
                    "does not have; it was trained for another model"
                )
            delta = (b.float() @ a.float()).mul_(self.scale).to(weight.device)
            summed = (weight.detach().float() + delta).to(weight.dtype)
            modules[name].weight = torch.nn.Parameter(summed, requires_grad=False)
        return adapted


def load_adapter(folder: Path) -> Adapter:
    """Read an adapter in PEFT's layout: `adapter_config.json`, `adapter_model.safetensors`.

    Raises:
        InputError: There is none, or it is not plain LoRA.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        tensors = load_file(str(folder / WEIGHTS))
        scale = config["lora_alpha"] / config["r"]
        factors = dict(_factors(tensors))
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InputError(
            f"{folder} holds no LoRA adapter ({error}); it needs {CONFIG} and {WEIGHTS}; make one "
            "by: foveate train-reader MODEL"
        ) from error
    return Adapter(factors, scale, _digest(factors, scale))


def shared_copy(model: Any) -> Any:
    """A copy of a model's modules over the same tensors."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})


def _factors(
    tensors: Mapping[str, torch.Tensor],
) -> Iterator[tuple[str, tuple[torch.Tensor, torch.Tensor]]]:
    for name in sorted(tensors):
        module, found, _ = name.partition(".lora_A.")
        if found:
            plain = module.removeprefix("base_model.model.")
            yield plain, (tensors[name], tensors[f"{module}.lora_B.weight"])


def _digest(factors: Mapping[str, tuple[torch.Tensor, torch.Tensor]], scale: float) -> str:
    digest = blake2b(f"{scale}".encode(), digest_size=8)
    for name, pair in factors.items():
        digest.update(name.encode())
        for factor in pair:
            digest.update(factor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
