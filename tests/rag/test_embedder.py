from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.errors import ModelNotFoundError, UnsupportedModelError
from foveate.rag.retrievers.embedder import Embedder, batches

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["the", "owl", "hunts", "at", "night", "heron", "stands", "in", "water", "storks", "nest"]
MODULES = "sentence_transformers.models."


def write(folder: Path, name: str, content: Any) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of two layers in a sentence-transformers folder; it pools by the mean."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    BertTokenizer(vocab={word: place for place, word in enumerate(vocabulary)}).save_pretrained(
        folder
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    config = BertConfig(vocab_size=len(vocabulary), num_attention_heads=4, **sizes)
    BertModel(config).save_pretrained(folder)
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write(folder, "modules.json", [{"path": p, "type": MODULES + kind} for p, kind in steps])
    write(
        folder,
        "1_Pooling/config.json",
        {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
    )
    write(folder, "sentence_bert_config.json", {"max_seq_length": 8, "do_lower_case": False})
    return folder


@pytest.fixture
def copy(bert: Path, tmp_path: Path) -> Path:
    return shutil.copytree(bert, tmp_path / "copy")


def hidden_states(folder: Path, text: str) -> Any:
    """Last hidden states of one text, straight from transformers, shape (tokens, dim)."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(
        text, return_tensors="pt", truncation=True, max_length=8
    )
    with torch.inference_mode():
        return AutoModel.from_pretrained(folder)(**tokens).last_hidden_state[0].numpy()


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


TEXTS = [
    "the owl hunts at night",
    "heron",
    "storks nest in water at night the owl hunts",
    "owl",
]


def test_vectors_are_normalised_means_whatever_shares_the_batch(bert: Path) -> None:
    vectors = Embedder(bert).embed(TEXTS)
    assert vectors.shape == (4, 32)
    assert vectors.dtype == np.float32
    for text, vector in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(vector, unit(hidden_states(bert, text).mean(0)), atol=1e-5)


def test_pooling_may_take_the_first_token(copy: Path) -> None:
    write(copy, "1_Pooling/config.json", {"embedding_dimension": 32, "pooling_mode": "cls"})
    vectors = Embedder(copy).embed(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(vector, unit(hidden_states(copy, text)[0]), atol=1e-5)


def test_texts_are_cut_where_the_model_says(bert: Path, copy: Path) -> None:
    long, cut = "owl " * 20, "owl " * 6
    np.testing.assert_allclose(*Embedder(bert).embed([long, cut]), atol=1e-6)
    write(copy, "sentence_bert_config.json", {"max_seq_length": 12})
    longer, shorter = Embedder(copy).embed([long, cut])
    assert not np.allclose(longer, shorter, atol=1e-4)


def test_prompts_go_before_queries_and_passages(copy: Path) -> None:
    plain = Embedder(copy).embed(["the owl", "night owl", "owl"])
    prompts = {"query": "the ", "document": "night "}
    write(copy, "config_sentence_transformers.json", {"prompts": prompts})
    embedder = Embedder(copy)
    np.testing.assert_allclose(embedder.embed(["owl"], query=True)[0], plain[0], atol=1e-6)
    np.testing.assert_allclose(embedder.embed(["owl"])[0], plain[1], atol=1e-6)


def test_no_texts_give_no_vectors(bert: Path) -> None:
    assert Embedder(bert).embed([]).shape == (0, 32)


def test_progress_counts_the_texts(bert: Path) -> None:
    calls: list[Any] = []
    Embedder(bert).embed(["owl night"] * 3000, progress=lambda *call: calls.append(call))
    assert calls[-1] == ("embed", 3000, 3000)
    assert calls == sorted(calls)
    assert len(calls) > 1


def test_the_identity_follows_weights_and_settings_but_not_the_place(
    bert: Path, copy: Path
) -> None:
    first, second = Embedder(bert).identity, Embedder(copy).identity
    assert first.matches(second)
    assert first.name == str(bert)
    (copy / "README.md").write_text("words that change nothing")
    assert Embedder(copy).identity.matches(first)
    write(copy, "1_Pooling/config.json", {"word_embedding_dimension": 32, "pooling_mode": "cls"})
    assert not Embedder(copy).identity.matches(first)


def test_another_weight_is_another_embedder(bert: Path, copy: Path) -> None:
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert not Embedder(copy).identity.matches(Embedder(bert).identity)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "lasttoken"),
        (
            "1_Pooling/config.json",
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            "2 poolings",
        ),
        ("1_Pooling/config.json", {}, "0 poolings"),
        (
            "modules.json",
            [
                {"path": "", "type": MODULES + "Transformer"},
                {"path": "1_Pooling", "type": MODULES + "Pooling"},
                {"path": "2_Dense", "type": MODULES + "Dense"},
            ],
            "step Dense",
        ),
        ("modules.json", [{"path": "", "type": MODULES + "Transformer"}], "Pooling step"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    copy: Path, name: str, content: Any, says: str
) -> None:
    write(copy, name, content)
    with pytest.raises(UnsupportedModelError, match=says):
        Embedder(copy)


def test_another_similarity_is_refused_unless_vectors_have_length_one(copy: Path) -> None:
    write(copy, "config_sentence_transformers.json", {"similarity_fn_name": "dot"})
    Embedder(copy)
    steps = [("", "Transformer"), ("1_Pooling", "Pooling")]
    write(copy, "modules.json", [{"path": p, "type": MODULES + kind} for p, kind in steps])
    with pytest.raises(UnsupportedModelError, match="similarity dot"):
        Embedder(copy)


def test_a_folder_that_is_no_model_is_told_apart(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        Embedder(tmp_path / "nowhere")
    (copy / "modules.json").write_text("{")
    with pytest.raises(ModelNotFoundError, match=r"modules\.json"):
        Embedder(copy)


def test_weights_that_are_missing_are_reported_when_they_are_needed(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match="safetensors"):
        Embedder(copy).embed(["owl"])


@given(st.lists(st.integers(1, 300), max_size=80), st.integers(1, 1000))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    found = list(batches(lengths, budget))
    assert sorted(place for batch in found for place in batch) == list(range(len(lengths)))
    for batch in found:
        padded = len(batch) * max(lengths[place] for place in batch)
        assert padded <= budget or len(batch) == 1


@pytest.mark.model
def test_the_default_embedder_gives_its_published_vectors() -> None:
    try:
        embedder = Embedder("minilm")
    except ModelNotFoundError as missing:
        pytest.skip(str(missing))
    texts = ["This is an example sentence", "Each sentence is converted"]
    vectors = embedder.embed(texts)
    # From the model's page: printed by sentence-transformers.
    np.testing.assert_allclose(
        vectors[0, :4], [0.06765690, 0.06349595, 0.04871309, 0.07930496], atol=2e-6
    )
    np.testing.assert_allclose(vectors[1, :3], [0.08643857, 0.10276284, 0.00539446], atol=2e-5)
    queries = embedder.embed(["How is the weather?", "An instance of a phrase"], query=True)
    assert queries[1] @ vectors[0] > 0.5 > queries[0] @ vectors[0]
