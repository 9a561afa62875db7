from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from foveate.blocks.errors import ModelNotFoundError, UnsupportedModelError
from foveate.blocks.loading import best_dtype, load_decoder
from foveate.blocks.passage import Passage
from foveate.blocks.proxy import Proxy, weights_fingerprint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, tiny_model: Any, tiny_tokenizer: Any) -> Path:
    tiny_model.save_pretrained(tmp_path / "tiny")
    tiny_tokenizer.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_folder_loads_and_reads(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    decoder = load_decoder(folder, device="cpu", dtype="float32")
    proxy = Proxy(decoder.model, decoder.tokenizer, name="tiny", heads=[(1, 0)])
    reading = proxy.read("Who?", proxy.encode([Passage("It rained. It stopped.")]))
    assert reading.mass.shape == (1, 2)
    assert capfd.readouterr().err == ""


def test_the_fingerprint_is_the_same_in_every_dtype(folder: Path, tiny_model: Any) -> None:
    half = load_decoder(folder, device="cpu", dtype="bfloat16").model
    assert weights_fingerprint(half) == weights_fingerprint(tiny_model)


def test_other_weights_have_another_fingerprint(folder: Path, tiny_model: Any) -> None:
    import torch

    other = load_decoder(folder, device="cpu", dtype="float32").model
    with torch.no_grad():
        other.model.layers[2].mlp.up_proj.weight.mul_(1.1)
    assert weights_fingerprint(other) != weights_fingerprint(tiny_model)


def test_a_folder_without_weights_is_refused_and_told_what_is_needed(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"config\.json, tokenizer\.json"):
        load_decoder(folder)


def test_truncated_weights_are_refused(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelNotFoundError, match="no model could be loaded"):
        load_decoder(folder)


def test_an_architecture_is_refused_before_its_weights_are_touched(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["rope_parameters"] = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").unlink()
    with pytest.raises(UnsupportedModelError, match="dynamic NTK"):
        load_decoder(folder)


def test_a_model_that_generates_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(UnsupportedModelError, match="t5"):
        load_decoder(tmp_path)


def test_bfloat16_is_chosen_only_where_the_processor_computes_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    monkeypatch.setattr("foveate.blocks.loading._cpu_has_bf16", lambda: True)
    assert best_dtype("cpu") is torch.bfloat16
    monkeypatch.setattr("foveate.blocks.loading._cpu_has_bf16", lambda: False)
    assert best_dtype("cpu") is torch.float32
