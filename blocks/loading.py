"""Loading a decoder from a folder or a hub id, on the best device there is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .attention import register
from .errors import ModelNotFoundError, UnsupportedModelError
from .support import check_architecture

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import torch


class Decoder(NamedTuple):
    """A decoder with its language-model head, and its tokenizer."""

    model: Any
    tokenizer: Any


def load_decoder(
    source: str | Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
) -> Decoder:
    """Load a causal language model ready to be a proxy, and to generate.

    Args:
        source: Folder with `config.json` and safetensors weights, or a Hugging Face id.
        device: "auto" (cuda, then mps, then cpu) or a torch device.
        dtype: "auto" (bfloat16 where the device computes in it, else float32) or a torch dtype
            name.
        revision: Revision of a hub id.

    Raises:
        ModelNotFoundError: Nothing there can be loaded.
        UnsupportedModelError: transformers has no decoder class for it.
    """
    from safetensors import SafetensorError

    target = best_device() if device == "auto" else device
    try:
        with _quietly():
            return _load(source, target, dtype, revision)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelNotFoundError(
            f"no model could be loaded from {source}: {error}; give a folder with config.json, "
            "tokenizer.json and *.safetensors, or a Hugging Face id"
        ) from error


def best_device() -> str:
    """The fastest device of this machine: cuda, mps or cpu."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: str) -> torch.dtype:
    """bfloat16 where the device computes in it, float32 elsewhere."""
    import torch

    if device.startswith("cuda"):
        computes = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if computes else torch.float16
    return torch.bfloat16 if device == "cpu" and _cpu_has_bf16() else torch.float32


def _cpu_has_bf16() -> bool:
    # Elsewhere bfloat16 is emulated, and slower than float32.
    import torch

    return any(
        bool(getattr(torch.cpu, probe, bool)())
        for probe in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )


def _load(source: str | Path, device: str, dtype: str, revision: str | None) -> Decoder:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    config = AutoConfig.from_pretrained(source, revision=revision)
    architecture: Any = AutoModelForCausalLM._model_mapping.get(type(config), None)
    if architecture is None:
        raise UnsupportedModelError(str(source), f"{config.model_type!r} is not a causal decoder")
    check_architecture(architecture, config, str(source))
    model: Any = AutoModelForCausalLM.from_pretrained(
        source,
        revision=revision,
        dtype=best_dtype(device) if dtype == "auto" else dtype,
        attn_implementation=register(),
        use_safetensors=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
    return Decoder(model.to(device).eval(), tokenizer)


@contextmanager
def _quietly() -> Iterator[None]:
    """No progress bars of transformers on stderr; what it was told before holds again after."""
    from transformers.utils import logging

    bars: Any = logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()
