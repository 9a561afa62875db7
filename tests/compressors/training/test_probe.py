from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.compressors import probes
from foveate.compressors.examples import Example
from foveate.compressors.features import TWO_HOPS
from foveate.compressors.training.probe import fit_linear, fit_probe, train_probe
from foveate.compressors.training.sampling import cut, schedule, with_neighbours
from foveate.compressors.training.table import Table, collect

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

EXAMPLES = [
    Example(
        f"What did ship {n} carry?",
        (
            Passage(f"Ship {n} left in May. It carried salt and rope.", title=f"Ship {n}"),
            Passage("Nobody saw the storm. Masts broke. The quay was empty.", title="Storm"),
        ),
        ((0, 20, 45),),
    )
    for n in range(6)
]


def table(questions: int = 40, units: int = 12) -> Table:
    """Evidence is where the first column is highest; the others say nothing."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(questions, units, len(TWO_HOPS)))
    labels = (features[..., 0] == features[..., 0].max(1, keepdims=True)).astype(float)
    records = np.repeat(np.arange(questions), units)
    return Table(TWO_HOPS, features.reshape(-1, len(TWO_HOPS)), labels.ravel(), records, records)


def test_the_weight_goes_to_the_feature_that_tells() -> None:
    model, chances = fit_linear(table(), ("attention", "looked"), seed=0)
    assert model.weights["attention"] > 5 * abs(model.weights["looked"])
    assert chances.min() >= 0


def test_a_probability_says_how_rare_evidence_is() -> None:
    data = table(200)
    model, _ = fit_linear(data, ("attention", "looked"), seed=0)
    mean = model.probability(data.columns(("attention", "looked"))).mean()
    assert mean == pytest.approx(data.labels.mean(), rel=0.5)


def test_the_same_records_give_the_same_probe(tiny_proxy: Proxy) -> None:
    first, again = (fit_probe(tiny_proxy, table(), source="made up") for _ in range(2))
    assert first == again


def test_a_probe_is_saved_found_and_names_what_it_was_fitted_on(
    tiny_proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    fitted = train_probe(tiny_proxy, EXAMPLES, source="ships sha256:0")
    fitted.save(probes.folder() / "ships.json")
    found = probes.find(tiny_proxy.fingerprint)
    assert found is not None
    assert found.provenance["source"] == "ships sha256:0"
    assert set(found.scorers) == {"retrieval-heads", "one-hop", "fused", "nothing"}
    probes.find.cache_clear()


def test_a_run_that_was_stopped_reads_nothing_twice(tiny_proxy: Proxy, tmp_path: Path) -> None:
    before = collect(tiny_proxy, EXAMPLES, cache=tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("read again")

    tiny_proxy.read = refuse  # type: ignore[method-assign, assignment]
    after = collect(tiny_proxy, EXAMPLES, cache=tmp_path)
    assert (after.features == before.features).all()


def test_each_question_is_seen_with_and_without_its_evidence(tiny_proxy: Proxy) -> None:
    data = collect(tiny_proxy, EXAMPLES)
    assert len(np.unique(data.records)) == 2 * len(np.unique(data.questions))
    empty = [r for r in np.unique(data.records) if not data.labels[data.records == r].any()]
    assert len(empty) == len(EXAMPLES)


def test_too_few_records_are_refused(tiny_proxy: Proxy) -> None:
    with pytest.raises(InputError, match="too few"):
        train_probe(tiny_proxy, EXAMPLES[:3], source="")


def test_gold_passages_alone_get_the_nearest_of_others_as_distractors() -> None:
    alone = [e.only([0]) for e in EXAMPLES]
    with_others = with_neighbours(alone, 3)
    assert all(len(e.passages) == 4 for e in with_others)
    assert all(e.holding == {0} for e in with_others)


def test_a_cut_keeps_the_evidence_and_its_place() -> None:
    rng = np.random.default_rng(0)
    for example in EXAMPLES:
        small = cut(example, rng, passages=1, tokens=10, count=len)
        (passage, start, end) = small.gold[0]
        assert small.passages[passage].text[start:end].startswith("It carried")


def test_every_record_of_a_set_is_drawn_before_one_is_drawn_again() -> None:
    drawn = schedule([5, 50], 200, np.random.default_rng(0))
    first = [record for which, record in drawn if which == 0]
    assert sorted(first[:5]) == [0, 1, 2, 3, 4]
