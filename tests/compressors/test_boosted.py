from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from foveate.compressors.boosted import Boosted
from foveate.compressors.training.probe import LEAVES, RATE, TREES, _trees


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1500, 3))
    chance = 1 / (1 + np.exp(-(2 * (features[:, 0] > 0) * features[:, 1] - 1)))
    return features, (rng.random(1500) < chance).astype(float)


def test_its_probabilities_are_those_of_scikit_learn(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    features, labels = rows
    oracle = GradientBoostingClassifier(
        n_estimators=TREES,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        max_depth=None,
        min_samples_leaf=40,
        subsample=0.7,
        random_state=0,
    ).fit(features, labels)
    ours = _trees(("a", "b", "c"), features, labels, 0).probability(features)
    theirs = oracle.predict_proba(features)[:, 1]
    # Thresholds are rounded: a row that lies on one may fall to the other side.
    assert np.quantile(np.abs(ours - theirs), 0.99) < 1e-3


def test_trees_survive_a_file(rows: tuple[np.ndarray, np.ndarray]) -> None:
    model = _trees(("a", "b", "c"), *rows, 0)
    again = Boosted(**json.loads(json.dumps(asdict(model))))
    assert (again.probability(rows[0]) == model.probability(rows[0])).all()


def test_no_rows_give_no_probabilities() -> None:
    stump = {"feature": [0], "threshold": [0.0], "left": [0], "right": [0], "value": [0.5]}
    assert Boosted(("a",), [stump], 0.0).probability(np.zeros((0, 1))).shape == (0,)


def test_a_tree_sends_a_row_left_where_its_feature_is_at_most_the_threshold() -> None:
    tree = {
        "feature": [1, 0, 0],
        "threshold": [0.5, 0.0, 0.0],
        "left": [1, 1, 2],
        "right": [2, 1, 2],
        "value": [0.0, -2.0, 2.0],
    }
    left, right = Boosted(("a", "b"), [tree], 0.0).probability(np.array([[9, 0.5], [9, 0.6]]))
    assert left < 0.5 < right
