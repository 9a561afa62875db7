from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    PhiConfig,
    Qwen2Config,
    Qwen3Config,
)

from foveate.blocks.attention import register
from foveate.blocks.errors import UnsupportedModelError
from foveate.blocks.passage import Passage
from foveate.blocks.proxy import Proxy
from foveate.blocks.support import check_architecture

SMALL = {
    "vocab_size": 259,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
YARN = {
    "rope_type": "yarn",
    "factor": 2.0,
    "rope_theta": 10000.0,
    "original_max_position_embeddings": 256,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "rope_theta": 10000.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 256,
}


def proxy_of(config: Any, tokenizer: Any) -> Proxy:
    model = AutoModelForCausalLM.from_config(config).eval()
    if getattr(model, "_supports_attention_backend", False):
        model.set_attn_implementation(register())
    return Proxy(model, tokenizer, name=config.model_type, heads=[(1, 0), (0, 3)])


READABLE = {
    "llama": lambda: LlamaConfig(**SMALL),
    "llama3 scaling": lambda: LlamaConfig(**SMALL, rope_parameters=LLAMA3),
    "yarn": lambda: LlamaConfig(**SMALL, rope_parameters=YARN),
    "qwen2": lambda: Qwen2Config(**SMALL),
    "qwen3": lambda: Qwen3Config(**SMALL, head_dim=8),
    "phi": lambda: PhiConfig(**SMALL),
    "gemma3 local and global": lambda: Gemma3TextConfig(
        **SMALL,
        head_dim=8,
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
    ),
}
REFUSED = {
    "learned positions": (lambda: GPT2Config(n_embd=32, n_layer=2, n_head=4), "rotary"),
    "alibi": (lambda: BloomConfig(hidden_size=32, n_layer=2, n_head=4), "bloom"),
    "no attention": (lambda: MambaConfig(hidden_size=32, num_hidden_layers=2), "mamba"),
    "dynamic ntk": (lambda: LlamaConfig(**SMALL, rope_parameters=DYNAMIC), "dynamic NTK"),
    "soft-capped": (lambda: Gemma2Config(**SMALL, head_dim=8), "soft-capped"),
}


@pytest.mark.parametrize("make", READABLE.values(), ids=READABLE.keys())
def test_every_rotary_decoder_is_read_like_its_own_eager_attention(
    make: Any, tiny_tokenizer: Any, oracle: Any
) -> None:
    proxy = proxy_of(make(), tiny_tokenizer)
    blocks = proxy.encode([Passage("It rained.", "a"), Passage("The pier sank. So it did.", "b")])
    reading = proxy.read("Why?", blocks)
    if (
        "gemma" not in proxy.name
    ):  # its layers take two masks: the windowed ones have a test of their own
        by_slot, slots = oracle.by_slot(proxy, "Why?", blocks)
        np.testing.assert_allclose(reading.mass, by_slot.mean(1)[:, : slots.units], atol=1e-5)
    assert np.isfinite(reading.mass).all()


@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_read_exactly_is_refused_by_name_and_reason(
    make: Any, reason: str, tiny_tokenizer: Any
) -> None:
    config = make()
    with pytest.raises(UnsupportedModelError, match=reason) as refusal:
        proxy_of(config, tiny_tokenizer)
    assert config.model_type in str(refusal.value)


def test_a_sliding_window_is_read_like_eager_attention_under_the_same_window(
    tiny_tokenizer: Any, oracle: Any
) -> None:
    window = 24
    proxy = proxy_of(MistralConfig(**SMALL, sliding_window=window), tiny_tokenizer)
    blocks = proxy.encode([Passage("Near.", "a"), Passage("The pier sank. So it did.", "b")])
    by_slot, slots = oracle.by_slot(proxy, "Why?", blocks, window=window)
    reading = proxy.read("Why?", blocks)
    np.testing.assert_allclose(reading.mass, by_slot.mean(1)[:, : slots.units], atol=1e-5)
    np.testing.assert_allclose(reading.head_share, by_slot.mean(1)[:, slots.head], atol=1e-5)


def test_attention_that_takes_more_than_a_reading_gives_is_refused(
    tiny_model: Any, tiny_tokenizer: Any
) -> None:
    import torch

    from foveate.blocks.attention import _attention

    rows = torch.zeros(1, 1, 2, 4)
    with pytest.raises(UnsupportedModelError, match="s_aux"):
        _attention(tiny_model, rows, rows, rows, None, s_aux=rows, foveate_plan=object())  # type: ignore[arg-type]


def test_a_model_made_of_several_is_refused_before_it_is_loaded() -> None:
    with pytest.raises(UnsupportedModelError, match="made of several models"):
        check_architecture(Gemma3ForConditionalGeneration, Gemma3Config(), "gemma-3-4b")
