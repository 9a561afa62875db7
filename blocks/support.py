"""Which decoders can be read, and why another cannot: refused by name, never read wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOVABLE_LAYERS = {"full_attention", "sliding_attention"}
UNSTABLE_ROPE = {
    "dynamic": "its dynamic NTK rotary embedding changes with the length of the context",
    "longrope": "its longrope rotary embedding switches with the length of the context",
}


def check_supported(model: Any, tokenizer: Any, name: str) -> None:
    """Refuse a loaded model that cannot be read exactly.

    Raises:
        UnsupportedModelError: With the first reason found.
    """
    check_architecture(type(model), model.config, name)
    if not any("rotary" in module_name for module_name, _ in model.named_modules()):
        raise UnsupportedModelError(
            name,
            "it has no rotary position embedding (ALiBi and learned positions cannot be moved)",
        )
    if not getattr(tokenizer, "is_fast", False):
        raise UnsupportedModelError(
            name, "its tokenizer is not a fast one, so it cannot give character offsets"
        )


def check_architecture(architecture: type, config: Any, name: str) -> None:
    """Refuse by class and config alone, before any weight is loaded.

    Raises:
        UnsupportedModelError: With the first reason found.
    """
    for reason in _reasons(architecture, config):
        raise UnsupportedModelError(name, reason)


def _reasons(architecture: type, config: Any) -> Iterator[str]:
    if getattr(config, "is_encoder_decoder", False):
        yield "it is an encoder-decoder; a decoder-only model is needed"
    if not getattr(architecture, "_supports_attention_backend", False):
        yield (
            f"the attention of {config.model_type!r} models does not go through transformers' "
            "attention interface"
        )
    if not hasattr(config, "num_hidden_layers"):
        yield "it is made of several models; give its text decoder alone"
        return
    yield from _layer_reasons(config)
    yield from _rope_reasons(config)


def _layer_reasons(config: Any) -> Iterator[str]:
    odd = sorted(set(getattr(config, "layer_types", None) or ()) - MOVABLE_LAYERS)
    if odd:
        yield f"layers of type {', '.join(odd)} keep no key and value per token"
    if getattr(config, "attn_logit_softcapping", None):
        yield "its attention logits are soft-capped"
    if getattr(config, "kv_lora_rank", None):
        yield "its keys and values are stored in latent form (MLA)"
    if config.model_type == "gpt_oss":
        yield "its attention has learned sinks"


def _rope_reasons(config: Any) -> Iterator[str]:
    parameters = getattr(config, "rope_parameters", None) or {}
    nested = [p for p in parameters.values() if isinstance(p, dict)] or [parameters]
    for kind in {p.get("rope_type", "default") for p in nested} & UNSTABLE_ROPE.keys():
        yield UNSTABLE_ROPE[kind]
