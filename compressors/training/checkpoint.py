"""Where a training stands, on disk: tensors as safetensors, the rest as JSON, never pickle."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from foveate.blocks.adapter import CONFIG, WEIGHTS
from foveate.blocks.errors import InputError
from foveate.compressors.readers import TRAINING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

STATE = "state.safetensors"
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
"""The linear maps that an adapter changes, in every layer up to the reading depth."""


@dataclass(frozen=True, slots=True)
class Progressed:
    """The course of a training.

    Attributes:
        step: Records seen.
        best: The step whose adapter ranked best, and is kept.
        curve: (step, mean average precision of the records held back, mean loss since the last).
    """

    step: int = 0
    best: int = 0
    curve: tuple[tuple[int, float, float | None], ...] = ()

    def measured(self, step: int, score: float, loss: float | None) -> Progressed:
        """Further on, with another point of the curve."""
        curve = (*self.curve, (step, round(score, 5), None if loss is None else round(loss, 5)))
        best = max(curve, key=lambda point: point[1])[0]
        return replace(self, step=step, best=best, curve=curve)


class Checkpoint:
    """Saves a training whole or not at all, and takes it up again.

    Args:
        folder: Where it lies: `last/` to go on from, `best/` the adapter.
        model: The model with its adapter.
        optimizer: Its optimizer.
        proxy: What is trained for.
        recipe: How; a checkpoint of another recipe is refused.
    """

    def __init__(
        self,
        folder: Path,
        model: Any,
        optimizer: torch.optim.Optimizer,
        proxy: Proxy,
        recipe: dict[str, Any],
    ) -> None:
        self._folder, self._model, self._optimizer = folder, model, optimizer
        self._config = {"peft_type": "LORA", **lora(recipe)}
        self._trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._of = {
            "fingerprint": proxy.fingerprint,
            "heads": [list(head) for head in proxy.heads],
            "recipe": recipe,
        }

    def save(self, state: Progressed) -> None:
        """Write `last/`, and `best/` if no earlier adapter was better."""
        self._write("last", state, self._tensors())
        if state.best == state.step:
            self._write("best", state, self._adapter())

    def resume(self) -> Progressed:
        """Load what was saved last; a fresh start if nothing was.

        Raises:
            InputError: What lies there belongs to another training.
        """
        path = self._folder / "last"
        if not path.exists():
            return Progressed()
        saved = json.loads((path / TRAINING).read_text("utf-8"))
        if {name: saved[name] for name in self._of} != self._of:
            raise InputError(
                f"{self._folder} holds the checkpoint of another training (other model, heads or "
                "settings); give another folder, or remove it"
            )
        self._load(path / STATE)
        curve = tuple((step, score, loss) for step, score, loss in saved["curve"])
        return Progressed(saved["step"], saved["best"], curve)

    def _write(self, name: str, state: Progressed, tensors: dict[str, torch.Tensor]) -> None:
        from safetensors.torch import save_file

        draft = self._folder / f"{name}.tmp"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        file = STATE if name == "last" else WEIGHTS
        save_file({k: t.contiguous() for k, t in tensors.items()}, str(draft / file))
        if name == "best":
            config = json.dumps(self._config, indent=1) + "\n"
            (draft / CONFIG).write_text(config, "utf-8")
        text = json.dumps({**self._of, **asdict(state)}, indent=1) + "\n"
        (draft / TRAINING).write_text(text, "utf-8")
        final = self._folder / name
        shutil.rmtree(final, ignore_errors=True)
        draft.replace(final)

    def _adapter(self) -> dict[str, torch.Tensor]:
        return {
            f"base_model.model.{name.replace('.default.', '.')}": weight.detach().half().cpu()
            for name, weight in self._trained.items()
        }

    def _tensors(self) -> dict[str, torch.Tensor]:
        tensors = {f"weight/{n}": p.detach().cpu() for n, p in self._trained.items()}
        for name, weight in self._trained.items():
            for key, value in self._optimizer.state.get(weight, {}).items():
                tensors[f"{key}/{name}"] = torch.as_tensor(value).detach().cpu()
        return tensors

    def _load(self, path: Path) -> None:
        from safetensors.torch import load_file

        tensors = load_file(str(path))
        with torch.no_grad():
            for name, weight in self._trained.items():
                weight.copy_(tensors[f"weight/{name}"])
                state = {
                    key: tensors[f"{key}/{name}"].to(weight.device if key != "step" else "cpu")
                    for key in ("step", "exp_avg", "exp_avg_sq")
                    if f"{key}/{name}" in tensors
                }
                if state:
                    self._optimizer.state[weight] = state


def lora(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What an adapter of that recipe is, in PEFT's words."""
    return {
        "r": recipe["rank"],
        "lora_alpha": 2 * recipe["rank"],
        "target_modules": list(TARGETS),
        "bias": "none",
    }
