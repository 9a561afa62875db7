from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from foveate.blocks.adapter import load_adapter
from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.compressors.examples import Example
from foveate.compressors.training.forward import unit_mass
from foveate.compressors.training.loss import Targets, contrast, targets
from foveate.compressors.training.reader import Recipe, rate_at, train_reader

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

COLOURS = ("red", "blue", "green", "white", "black", "brown")
EXAMPLES = [
    Example(
        f"Which ship is {colour}?",
        (
            Passage(f"Ship {n} is {colour}. It left in May.", title=f"Ship {n}"),
            Passage("The quay was empty. Nobody came.", title="Quay"),
        ),
        ((0, 0, 12 + len(colour) - 2),),
    )
    for n, colour in enumerate(COLOURS)
]
RECIPE = Recipe(steps=12, batch=2, rate=5e-3, rank=2, every=6, tokens=400)


def test_the_trained_forward_sees_what_the_reading_sees(tiny_proxy: Proxy) -> None:
    for example in EXAMPLES[:2]:
        candidates = Candidates(example.question, example.passages, proxy=tiny_proxy)
        with torch.no_grad():
            units = unit_mass(tiny_proxy.model.base_model, tiny_proxy, candidates, example.question)
        assert np.abs(units.numpy() - candidates.reading.mass).max() < 1e-5


def test_the_loss_falls_as_attention_moves_onto_the_evidence() -> None:
    candidates = Candidates(EXAMPLES[0].question, EXAMPLES[0].passages)
    wanted = targets(candidates, EXAMPLES[0])
    assert [group.tolist() for group in wanted.positives] == [[0]]
    assert wanted.negatives.tolist() == [1, 2, 3]
    even = torch.full((2, 4), 0.25)
    better = torch.tensor([[0.7, 0.1, 0.1, 0.1]] * 2)
    assert contrast(even, wanted) == pytest.approx(np.log(4), abs=1e-5)
    assert contrast(better, wanted) < contrast(even, wanted)


def test_one_head_that_sees_the_evidence_is_enough() -> None:
    wanted = Targets((np.array([0]),), np.array([1, 2, 3]))
    both = torch.tensor([[0.4, 0.2, 0.2, 0.2]] * 2)
    one = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.3, 0.3, 0.3]])
    assert contrast(one, wanted) == pytest.approx(float(contrast(both, wanted)), abs=1e-5)


def test_training_lowers_the_loss_on_what_it_sees(tiny_proxy: Proxy, tmp_path: Path) -> None:
    narrow = tiny_proxy.with_heads([(1, 0), (2, 3)])
    recipe = Recipe(steps=36, batch=2, rate=1e-2, rank=4, every=18, tokens=400)
    course = train_reader(narrow, [EXAMPLES], EXAMPLES[:2], tmp_path, recipe)
    losses = [loss for _, _, loss in course.curve if loss is not None]
    assert losses[-1] < losses[0]


def test_a_stopped_training_goes_on_to_the_same_end(tiny_proxy: Proxy, tmp_path: Path) -> None:
    narrow = tiny_proxy.with_heads([(1, 0)])
    whole = train_reader(narrow, [EXAMPLES], EXAMPLES[:2], tmp_path / "whole", RECIPE)

    class Stop(Exception):
        pass

    def stop(_stage: str, done: int, _total: int | None) -> None:
        if done == 8:
            raise Stop

    with pytest.raises(Stop):
        train_reader(narrow, [EXAMPLES], EXAMPLES[:2], tmp_path / "halves", RECIPE, progress=stop)
    halves = train_reader(narrow, [EXAMPLES], EXAMPLES[:2], tmp_path / "halves", RECIPE)
    assert halves == whole


def test_what_is_kept_is_an_adapter_that_can_be_loaded(tiny_proxy: Proxy, tmp_path: Path) -> None:
    narrow = tiny_proxy.with_heads([(1, 0)])
    course = train_reader(narrow, [EXAMPLES], EXAMPLES[:2], tmp_path, RECIPE)
    best = load_adapter(tmp_path / "best")
    assert best.merged(tiny_proxy.model) is not tiny_proxy.model
    assert {name.split(".")[-1] for name in best.factors} == {
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
    }
    assert json.loads((tmp_path / "best" / "training.json").read_text())["best"] == course.best


def test_a_checkpoint_of_another_training_is_refused(tiny_proxy: Proxy, tmp_path: Path) -> None:
    narrow = tiny_proxy.with_heads([(1, 0)])
    train_reader(narrow, [EXAMPLES], EXAMPLES[:2], tmp_path, RECIPE)
    with pytest.raises(InputError, match="another training"):
        train_reader(tiny_proxy, [EXAMPLES], EXAMPLES[:2], tmp_path, RECIPE)


def test_nothing_to_train_on_is_refused(tiny_proxy: Proxy, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty"):
        train_reader(tiny_proxy, [EXAMPLES], [], tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_rate_rises_then_falls_to_nothing() -> None:
    recipe = Recipe(steps=100, warmup=0.1)
    rates = [rate_at(step, recipe) for step in range(100)]
    top = int(np.argmax(rates))
    assert (np.diff(rates[: top + 1]) > 0).all()
    assert (np.diff(rates[top:]) <= 0).all()
    assert rates[-1] < 0.01 * max(rates)
