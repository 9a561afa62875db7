"""Turn a GGUF file, once, into a folder that loads fast anywhere: safetensors and a tokenizer."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import ModelNotFoundError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import torch
    from transformers import PreTrainedModel

CONVERTERS = ("gguf", "safetensors", "tokenizers", "torch", "transformers")

_MAGIC = b"GGUF"
# Pre-tokenizers, by their GGUF name, that set every digit apart before anything else (llama.cpp's
# regex "\p{N}"). transformers forgets them: "\n\n1." would not be cut as it was in training.
_SPLIT_DIGITS = frozenset({"smollm"})


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write the model of a GGUF file into `folder`, for plain `from_pretrained`.

    Weights are dequantized and kept in the half precision that is closer to them. Quantized formats
    store their scales in float16, so that is as a rule float16: for the default proxy the largest
    error is 0.002, against 0.014 in bfloat16. Tied weights stay tied.

    Args:
        gguf: The file; one that is split into several is refused.
        folder: Where to write; made when it is not there.

    Raises:
        ModelNotFoundError: There is no such file.
        UnsupportedModelError: It is no GGUF file, is damaged, or is of an architecture that
            transformers cannot read.
    """
    _check_magic(gguf)
    with _quiet():
        try:
            model, tokenizer = _load(gguf)
        except (ImportError, MemoryError):
            raise  # no fault of the file
        # The loaders raise whatever a malformed file makes them stumble over.
        except Exception as error:
            raise UnsupportedModelError(str(gguf), f"its GGUF cannot be read: {error}") from error
        _plain(model, str(gguf)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _check_magic(gguf: Path) -> None:
    if not gguf.is_file():
        raise ModelNotFoundError(f"there is no file {gguf}")
    with gguf.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise UnsupportedModelError(str(gguf), "it does not start as a GGUF file does")


def _load(gguf: Path) -> tuple[PreTrainedModel, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
    tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, **where)
    if _pre_tokenizer_name(gguf) in _SPLIT_DIGITS:
        _split_digits(tokenizer)
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        gguf.parent, dtype=torch.float32, output_loading_info=True, **where
    )
    model, report = loaded
    if missing := sorted(report["missing_keys"]):
        # They would have been filled with random numbers.
        raise ValueError(
            f"it lacks {len(missing)} weights, such as {missing[0]}; is it one of a set?"
        )
    return model, tokenizer


def _pre_tokenizer_name(gguf: Path) -> str:
    from gguf import GGUFReader

    field = GGUFReader(gguf).get_field("tokenizer.ggml.pre")
    return str(field.contents()) if field else ""


def _split_digits(tokenizer: Any) -> None:
    from tokenizers import pre_tokenizers

    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer]
    )


def _plain(model: PreTrainedModel, name: str) -> PreTrainedModel:
    """The same model, no longer marked as quantized: transformers refuses to save one that is."""
    import torch

    weights = model.state_dict()
    if packed := [key for key, weight in weights.items() if not weight.is_floating_point()]:
        raise UnsupportedModelError(name, f"its weights stay quantized once loaded: {packed[0]}")
    dtype = _closer_half(model.parameters())
    config = copy.deepcopy(model.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = dtype
    with torch.device("meta"):  # every weight is about to be replaced
        plain = type(model)(config)
    plain.load_state_dict({key: weight.to(dtype) for key, weight in weights.items()}, assign=True)
    plain.tie_weights()
    plain.generation_config = model.generation_config
    return plain


def _closer_half(weights: Iterable[torch.Tensor]) -> torch.dtype:
    """Of float16 and bfloat16, the one with the smaller largest error."""
    import torch

    worst = {torch.float16: 0.0, torch.bfloat16: 0.0}
    for weight in weights:
        for half in worst:
            error = (weight.detach() - weight.detach().to(half)).abs().max()
            worst[half] = max(worst[half], float(error))
    return min(worst, key=worst.__getitem__)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hush the bars and advice of transformers, and put everything back."""
    from transformers.utils import logging as advice

    verbosity = advice.get_verbosity()
    advice.set_verbosity(logging.ERROR)
    try:
        # The bar of the GGUF loader heeds no switch; it writes to what stderr is at its start.
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        advice.set_verbosity(verbosity)
