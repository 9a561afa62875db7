from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foveate.compressors.logistic import Logistic, logit, sigmoid


def test_a_probability_is_the_sigmoid_of_the_weighted_sum() -> None:
    model = Logistic({"a": 2.0, "b": -1.0}, 0.5)
    assert model.probability(np.array([[1.0, 0.5]])).tolist() == sigmoid(np.array([2.0])).tolist()


def test_sigmoid_does_not_overflow() -> None:
    assert sigmoid(np.array([-1e6, 0.0, 1e6])).tolist() == [0.0, 0.5, 1.0]


@given(st.floats(-15, 15))
def test_logit_undoes_sigmoid(value: float) -> None:
    assert np.allclose(logit(sigmoid(np.array([value]))), value, atol=1e-6)


def test_logit_is_finite_at_the_ends() -> None:
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()
