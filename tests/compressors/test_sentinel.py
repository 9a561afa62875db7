from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError, NotTrainedError
from foveate.blocks.passage import Passage
from foveate.compressors import sentinel
from foveate.compressors.every_head import all_heads, every_head
from foveate.compressors.examples import Example
from foveate.compressors.logistic import Logistic
from foveate.compressors.probes import Probe
from foveate.compressors.sentinel import Sentinel, feature_names, features
from foveate.compressors.training.sentinel import fit_sentinel, train_sentinel

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

QUERY = "What did the ship carry?"
PASSAGES = [
    Passage("The ship left. It carried salt.", "ship", "Ship"),
    Passage("", "empty"),
    Passage("Nobody saw the storm. Masts broke.", "storm", "Storm"),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))


@pytest.fixture
def narrow(tiny_model: Any, tiny_tokenizer: Any) -> Proxy:
    from foveate.blocks.proxy import Proxy

    return Proxy(tiny_model, tiny_tokenizer, name="tiny", heads=[(1, 2)])


def weights(proxy: Proxy, head: tuple[int, int]) -> Probe:
    """Weights that look at one head alone."""
    names = feature_names(all_heads(proxy))
    model = Logistic({n: float(n == f"{head[0]}.{head[1]}") for n in names}, -1.0)
    return Probe(proxy.name, proxy.fingerprint, all_heads(proxy), {"sentinel": model})


def ships(count: int) -> list[Example]:
    return [
        Example(
            f"What did ship {n} carry?",
            (
                Passage(f"Ship {n} left in May. It carried salt and rope.", title=f"Ship {n}"),
                Passage("Nobody saw the storm. Masts broke.", title="Storm"),
            ),
            ((0, 22, 47),),
        )
        for n in range(count)
    ]


def test_features_are_the_last_rows_mean_attention_over_that_of_an_even_spread(
    tiny_proxy: Proxy,
) -> None:
    reading = Candidates(QUERY, PASSAGES, proxy=tiny_proxy).reading
    values = features(reading)
    assert values.shape == (4, len(tiny_proxy.heads))
    slow = [
        [
            (reading.last[h, u] / reading.tokens[u])
            / (reading.last[h].sum() / reading.tokens.sum())
            for h in range(len(reading.heads))
        ]
        for u in range(4)
    ]
    np.testing.assert_allclose(values, slow, rtol=1e-4)


def test_what_falls_outside_the_context_does_not_count(tiny_proxy: Proxy) -> None:
    reading = Candidates(QUERY, PASSAGES, proxy=tiny_proxy).reading
    shy = replace(reading, last=reading.last * 0.01, head_share=reading.head_share + 0.5)
    np.testing.assert_allclose(features(shy), features(reading), rtol=1e-4)


def test_it_reads_with_every_head_and_encodes_a_passage_once(
    narrow: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = every_head(narrow)
    assert len(wide.heads) == 16
    assert every_head(narrow) is wide
    weights(narrow, (3, 0)).save(sentinel.own_path(narrow.fingerprint))
    first = Sentinel().score(Candidates(QUERY, PASSAGES, proxy=narrow))
    monkeypatch.setattr(wide, "_encode_batch", None)
    again = Sentinel().score(Candidates(QUERY, PASSAGES, proxy=narrow))
    np.testing.assert_array_equal(first.units, again.units)


def test_the_weighted_head_ranks_the_units(narrow: Proxy) -> None:
    weights(narrow, (3, 1)).save(sentinel.own_path(narrow.fingerprint))
    candidates = Candidates(QUERY, PASSAGES, proxy=narrow)
    scores = Sentinel().score(candidates)
    wide = every_head(narrow)
    seen = features(candidates.read_by(wide).reading)[:, wide.heads.index((3, 1))]
    assert np.argsort(scores.units).tolist() == np.argsort(seen).tolist()
    assert scores.passages[1] == 0.0
    assert scores.nothing == pytest.approx(1.0 - scores.units.max())


def test_the_baseline_reads_without_the_adapter(narrow: Proxy) -> None:
    import torch

    from foveate.blocks.adapter import Adapter
    from foveate.blocks.proxy import Proxy

    name = "model.layers.0.self_attn.q_proj"
    adapter = Adapter({name: (torch.ones(1, 64), torch.ones(64, 1))}, 1.0, "d")
    adapted = Proxy(narrow.base, narrow.tokenizer.hf, name="tiny", heads=[(1, 2)], adapter=adapter)
    assert adapted.fingerprint != narrow.fingerprint
    assert every_head(adapted).fingerprint == narrow.fingerprint
    weights(narrow, (3, 1)).save(sentinel.own_path(narrow.fingerprint))
    scores = [
        Sentinel().score(Candidates(QUERY, PASSAGES, proxy=p)).units for p in (narrow, adapted)
    ]
    np.testing.assert_array_equal(*scores)


def test_a_model_without_weights_is_refused_with_the_command(narrow: Proxy) -> None:
    with pytest.raises(NotTrainedError, match="foveate train-probe tiny --method sentinel"):
        Sentinel().score(Candidates(QUERY, PASSAGES, proxy=narrow))


def test_training_finds_the_head_that_knows() -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.2
    rows = rng.random((400, 4))
    rows[:, 2] = 5 * labels + rng.random(400)
    groups = np.repeat(np.arange(40), 10)
    model, chosen = fit_sentinel(rows, labels, groups, ["a", "b", "c", "d"])
    assert max(model.weights, key=lambda name: abs(model.weights[name])) == "c"
    assert model.weights["c"] > 0
    assert chosen["cv_auc"] > 0.95
    assert fit_sentinel(rows, labels, groups, ["a", "b", "c", "d"]) == (model, chosen)


def test_features_that_say_nothing_of_other_questions_score_by_chance() -> None:
    # Each question's label is written into its own feature; across questions it tells nothing.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 8)
    labels = rng.random(240) < 0.3
    rows = np.eye(30)[groups] * labels[:, None]
    _, chosen = fit_sentinel(rows, labels, groups, [str(n) for n in range(30)])
    assert chosen["cv_auc"] < 0.6


def test_what_is_trained_scores(narrow: Proxy) -> None:
    stages: list[tuple[str, int, int | None]] = []
    probe = train_sentinel(narrow, ships(6), source="ships", progress=lambda *at: stages.append(at))
    assert probe.fingerprint == narrow.fingerprint
    assert tuple(probe.scorers["sentinel"].weights) == feature_names(all_heads(narrow))
    assert probe.provenance["records"] == 6
    assert stages == [("read", n, 6) for n in range(6)]
    probe.save(sentinel.own_path(narrow.fingerprint))
    assert sentinel.weights_for(narrow) == probe
    scores = Sentinel().score(Candidates(QUERY, PASSAGES, proxy=narrow))
    assert ((scores.units > 0) & (scores.units < 1)).all()


def test_too_few_questions_are_refused(narrow: Proxy) -> None:
    with pytest.raises(InputError, match="2 questions have units with and without evidence"):
        train_sentinel(narrow, ships(2), source="ships")


@pytest.mark.model
def test_the_shipped_weights_belong_to_the_default_proxy(default_proxy: Proxy) -> None:
    shipped = sentinel.shipped()
    wide = every_head(default_proxy)
    assert shipped.fingerprint == wide.fingerprint
    assert tuple(shipped.scorers["sentinel"].weights) == feature_names(wide.heads)
    passages = [
        Passage("The harbour froze in March 1947. The mayor wrote a letter.", title="Harbour"),
        Passage("Masts broke on the pier. Nobody was hurt.", title="Storm"),
    ]
    candidates = Candidates("When did the harbour freeze?", passages, proxy=default_proxy)
    assert Sentinel().score(candidates).units.argmax() == 0
