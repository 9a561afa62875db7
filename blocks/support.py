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
    """Refuse what cannot be read exactly.

    Raises:
        UnsupportedModelError: With the first reason found.
    """
    for reason in _reasons(model, tokenizer):
        raise UnsupportedModelError(name, reason)


def _reasons(model: Any, tokenizer: Any) -> Iterator[str]:
    config = model.config
    if getattr(config, "is_encoder_decoder", False):
        yield "it is an encoder-decoder; a decoder-only model is needed"
    if not getattr(model, "_supports_attention_backend", False):
        yield (
            f"transformers does not route the attention of {config.model_type!r} through its attention interface"
        )
    yield from _layer_reasons(config)
    yield from _position_reasons(model, config)
    if not getattr(tokenizer, "is_fast", False):
        yield "its tokenizer is not a fast one, so it cannot give character offsets"


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


def _position_reasons(model: Any, config: Any) -> Iterator[str]:
    if not any("rotary" in module_name for module_name, _ in model.named_modules()):
        yield "it has no rotary position embedding (ALiBi and learned positions cannot be moved)"
    parameters = getattr(config, "rope_parameters", None) or {}
    nested = [p for p in parameters.values() if isinstance(p, dict)] or [parameters]
    for kind in {p.get("rope_type", "default") for p in nested} & UNSTABLE_ROPE.keys():
        yield UNSTABLE_ROPE[kind]
