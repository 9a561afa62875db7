from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from foveate.blocks.adapter import load_adapter
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.blocks.proxy import Proxy

if TYPE_CHECKING:
    from pathlib import Path

PASSAGES = [Passage("Salt came by ship. It was sold in May.", title="Salt")]
QUERY = "What came by ship?"


@pytest.fixture
def trained(tiny_model: Any, tmp_path: Path) -> tuple[Path, Any]:
    """An adapter that PEFT saved, and PEFT's own model with it."""
    import copy

    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    config = LoraConfig(
        r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False
    )
    model = get_peft_model(copy.deepcopy(tiny_model), config)
    model.save_pretrained(tmp_path)
    return tmp_path, model


def test_merged_weights_are_those_of_peft(tiny_model: Any, trained: tuple[Path, Any]) -> None:
    folder, oracle = trained
    ours = load_adapter(folder).merged(tiny_model)
    theirs = oracle.merge_and_unload()
    for (name, a), (_, b) in zip(
        sorted(ours.named_parameters()), sorted(theirs.named_parameters()), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-6), name


def test_merging_leaves_the_model_as_it_was_and_shares_what_it_does_not_change(
    tiny_model: Any, trained: tuple[Path, Any]
) -> None:
    before = {name: weight.clone() for name, weight in tiny_model.named_parameters()}
    merged = dict(load_adapter(trained[0]).merged(tiny_model).named_parameters())
    for name, weight in tiny_model.named_parameters():
        assert torch.equal(weight, before[name])
        changed = "q_proj" in name or "v_proj" in name
        assert (merged[name] is weight) != changed


def test_blocks_of_an_adapted_proxy_are_not_those_of_its_base(
    tiny_model: Any, tiny_tokenizer: Any, trained: tuple[Path, Any]
) -> None:
    adapter = load_adapter(trained[0])
    base = Proxy(tiny_model, tiny_tokenizer, name="tiny", heads=[(2, 1)])
    adapted = Proxy(tiny_model, tiny_tokenizer, name="tiny", heads=[(2, 1)], adapter=adapter)
    assert adapted.fingerprint != base.fingerprint
    assert adapted.encode(PASSAGES)[0].key != base.encode(PASSAGES)[0].key
    mass = [p.read(QUERY, p.encode(PASSAGES)).mass for p in (base, adapted)]
    assert not np.allclose(*mass)


def test_an_adapter_for_another_model_is_refused(
    tiny_model: Any, trained: tuple[Path, Any]
) -> None:
    adapter = load_adapter(trained[0])
    name = next(iter(adapter.factors))
    adapter.factors[name.replace("q_proj", "x_proj")] = adapter.factors[name]  # type: ignore[index]
    with pytest.raises(InputError, match="another model"):
        adapter.merged(tiny_model)


def test_a_folder_without_an_adapter_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"adapter_config\.json"):
        load_adapter(tmp_path)
