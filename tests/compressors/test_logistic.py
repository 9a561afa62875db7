from __future__ import annotations

import numpy as np
import pytest

from foveate.compressors.logistic import fit, probability, sigmoid


def test_it_finds_the_weights_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20_000, 2))
    labels = (rng.random(20_000) < sigmoid(features @ [1.5, -0.7] - 0.4)).astype(float)
    model = fit(("a", "b"), features, labels)
    assert model.weights["a"] == pytest.approx(1.5, abs=0.06)
    assert model.weights["b"] == pytest.approx(-0.7, abs=0.06)
    assert model.bias == pytest.approx(-0.4, abs=0.06)


def test_its_probabilities_are_calibrated_on_what_it_was_fitted_on() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(500, 3))
    labels = (rng.random(500) < 0.2).astype(float)
    model = fit(("a", "b", "c"), features, labels, l2=1e-6)
    assert probability(features, model).mean() == pytest.approx(labels.mean(), abs=1e-6)


def test_separable_data_stays_finite() -> None:
    features = np.array([[-1.0], [1.0]])
    model = fit(("a",), features, np.array([0.0, 1.0]))
    assert np.isfinite([*model.weights.values(), model.bias]).all()
    assert model.weights["a"] > 0


def test_sigmoid_does_not_overflow() -> None:
    assert sigmoid(np.array([-1e6, 0.0, 1e6])).tolist() == [0.0, 0.5, 1.0]
