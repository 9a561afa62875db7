from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
ALL_TINY_HEADS = tuple((layer, head) for layer in range(4) for head in range(4))


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Any:
    """Byte-level, without merges: one token a byte, three control tokens, a ChatML template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*CONTROL, *letters])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True) for token in CONTROL])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        unk_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        chat_template=TEMPLATE,
    )


@pytest.fixture(scope="session")
def tiny_model() -> Any:
    """A random Llama: 4 layers, 4 query heads over 2 key heads; attention that is not uniform."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from foveate.blocks.attention import register

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=259,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.2,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation=register(),
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture
def tiny_proxy(tiny_model: Any, tiny_tokenizer: Any) -> Proxy:
    from foveate.blocks.proxy import Proxy

    return Proxy(tiny_model, tiny_tokenizer, name="tiny", heads=ALL_TINY_HEADS)


@pytest.fixture(scope="session")
def default_proxy() -> Proxy:
    from foveate import load_proxy
    from foveate.blocks.errors import ModelNotFoundError

    try:
        return load_proxy("default", dtype="float32")
    except ModelNotFoundError as missing:
        pytest.skip(str(missing))
