"""GGUF files become folders that load plainly and compute the same."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import quantize

from foveate.blocks.errors import ModelNotFoundError, UnsupportedModelError
from foveate.rag import models

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

LAYERS, WIDTH, INNER, HEADS, KV_HEADS = 2, 64, 96, 4, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ċ Ċ", "Ġ Ġ", "h e", "l l", "he ll"]
CHAT = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"
TEXT = "hello there\n\n12.  34"

Q4 = GGMLQuantizationType.Q4_1
F32 = GGMLQuantizationType.F32
BF16 = GGMLQuantizationType.BF16


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.Q4_1.gguf")


@pytest.fixture(scope="module")
def converted(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("converted") / "tiny"
    models.convert_gguf(gguf, folder)
    return folder


def test_the_converted_model_computes_what_the_gguf_computes(gguf: Path, converted: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    ids = AutoTokenizer.from_pretrained(converted)(TEXT, return_tensors="pt").input_ids
    plain = AutoModelForCausalLM.from_pretrained(converted, dtype=torch.float32)
    assert not hasattr(plain.config, "quantization_config")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
    for ours, theirs in zip(plain.parameters(), original.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=6e-8, rtol=2**-11)  # what float16 rounds by
        theirs.data = theirs.data.half().float()
    with torch.no_grad():
        got, want = plain(ids).logits, original(ids).logits
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)


def test_q4_1_weights_are_kept_in_float16(converted: Path) -> None:
    assert saved_dtypes(converted) == {"F16"}


def test_bfloat16_weights_are_kept_exactly(tmp_path: Path) -> None:
    models.convert_gguf(write_gguf(tmp_path / "tiny.gguf", weights=BF16), tmp_path / "out")
    assert saved_dtypes(tmp_path / "out") == {"BF16"}


def test_tied_weights_stay_tied_and_are_stored_once(converted: Path) -> None:
    from safetensors import safe_open
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(converted)
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    with safe_open(converted / "model.safetensors", "pt") as file:
        assert "lm_head.weight" not in file.keys()  # noqa: SIM118


def test_untied_weights_stay_untied(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    models.convert_gguf(write_gguf(tmp_path / "tiny.gguf", tied=False), tmp_path / "out")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert not model.get_input_embeddings().weight.equal(model.get_output_embeddings().weight)


def test_special_tokens_and_chat_template_survive(converted: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(converted)
    assert (tokenizer.unk_token, tokenizer.bos_token, tokenizer.eos_token) == tuple(SPECIAL)
    assert tokenizer("<|im_start|>hell<|im_end|>").input_ids[0::2] == [1, 2]
    said = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert said == "<|im_start|>hi<|im_end|>"


@pytest.mark.parametrize(
    ("pre", "tokens"),
    [
        ("smollm", ["hell", "o", "ĊĊ", "1", "2", ".", "ĠĠ", "3", "4"]),
        ("gpt-2", ["hell", "o", "Ċ", "Ċ", "1", "2", ".", "Ġ", "Ġ", "3", "4"]),
    ],
)
def test_digits_are_set_apart_where_the_model_was_trained_so(
    tmp_path: Path, pre: str, tokens: list[str]
) -> None:
    from transformers import AutoTokenizer

    models.convert_gguf(write_gguf(tmp_path / "tiny.gguf", pre=pre), tmp_path / "out")
    assert AutoTokenizer.from_pretrained(tmp_path / "out").tokenize("hello\n\n12.  34") == tokens


def test_conversion_is_silent_and_leaves_no_setting_changed(
    gguf: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers.utils import logging

    logging.set_verbosity_info()
    filters = list(warnings.filters)
    try:
        models.convert_gguf(gguf, tmp_path / "out")
        assert logging.get_verbosity() == logging.INFO
    finally:
        logging.set_verbosity_warning()
    assert warnings.filters == filters
    assert capfd.readouterr() == ("", "")


def test_the_same_file_gives_the_same_bytes(gguf: Path, converted: Path, tmp_path: Path) -> None:
    models.convert_gguf(gguf, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(converted)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"absent\.gguf"):
        models.convert_gguf(tmp_path / "absent.gguf", tmp_path / "out")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note.gguf").write_text("not a model")
    with pytest.raises(UnsupportedModelError, match="does not start as a GGUF"):
        models.convert_gguf(tmp_path / "note.gguf", tmp_path / "out")


@pytest.mark.parametrize("share", [0.01, 0.2, 0.9])
def test_a_truncated_gguf_is_refused_and_nothing_is_installed(
    gguf: Path, tmp_path: Path, cache: Path, share: float
) -> None:
    whole = gguf.read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UnsupportedModelError, match="cannot be read"):
        models.resolve(tmp_path / "cut.gguf")
    assert not [entry for entry in cache.iterdir() if entry.suffix != ".lock"]


def test_a_part_of_a_set_is_refused_rather_than_filled_with_noise(tmp_path: Path) -> None:
    part = write_gguf(tmp_path / "part.gguf", leave_out="blk.1.ffn_up.weight")
    with pytest.raises(UnsupportedModelError, match=r"lacks 1 weights.*up_proj"):
        models.convert_gguf(part, tmp_path / "out")


def test_an_architecture_that_transformers_cannot_read_is_refused(tmp_path: Path) -> None:
    odd = write_gguf(tmp_path / "odd.gguf", architecture="abacus")
    with pytest.raises(UnsupportedModelError, match="abacus"):
        models.convert_gguf(odd, tmp_path / "out")


def test_resolve_converts_a_gguf_once_whatever_it_is_called(
    gguf: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = models.resolve(str(gguf))
    assert isinstance(folder, Path)
    assert folder.parent == cache
    assert models.resolve(folder) == folder
    manifest = json.loads((folder / "foveate.json").read_text())
    assert manifest["name"] == folder.name
    assert manifest["source"]["gguf_sha256"].startswith(folder.name.removeprefix("gguf-"))
    monkeypatch.setattr(models, "convert_gguf", lambda *_: pytest.fail("converted again"))
    (tmp_path / "copy.gguf").write_bytes(gguf.read_bytes())
    assert models.resolve(tmp_path / "copy.gguf") == folder


def write_gguf(
    path: Path,
    *,
    weights: GGMLQuantizationType = Q4,
    tied: bool = True,
    pre: str = "smollm",
    architecture: str = "llama",
    leave_out: str = "",
) -> Path:
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    add_tokenizer(writer, pre)
    for name, values in tensors(tied=tied):
        if name != leave_out:
            kind = F32 if values.ndim == 1 else weights
            writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_tokenizer(writer: GGUFWriter, pre: str) -> None:
    tokens = vocabulary()
    kinds = [TokenType.CONTROL if token in SPECIAL else TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(MERGES)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT)


def vocabulary() -> list[str]:
    from tokenizers.pre_tokenizers import ByteLevel

    merged = [merge.replace(" ", "") for merge in MERGES]
    return SPECIAL + sorted(ByteLevel.alphabet()) + merged


def tensors(*, tied: bool) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    import numpy as np

    random, kv = np.random.default_rng(0), WIDTH // HEADS * KV_HEADS
    shapes = {"token_embd": (len(vocabulary()), WIDTH), "output_norm": (WIDTH,)}
    if not tied:
        shapes["output"] = shapes["token_embd"]
    for n in range(LAYERS):
        block = {"attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (kv, WIDTH)}
        block |= {"attn_v": (kv, WIDTH), "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,)}
        block |= {"ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}
        shapes |= {f"blk.{n}.{name}": shape for name, shape in block.items()}
    for name, shape in shapes.items():
        values = random.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        yield f"{name}.weight", values.astype(np.float32)


def saved_dtypes(folder: Path) -> set[str]:
    raw = (folder / "model.safetensors").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    return {facts["dtype"] for name, facts in header.items() if name != "__metadata__"}


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}
