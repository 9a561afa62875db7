from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from foveate.blocks.errors import BudgetError
from foveate.compressors.budget import Adaptive, check, limit_of


@pytest.mark.parametrize(
    "budget",
    [
        0,
        -1,
        0.0,
        -0.5,
        1.5,
        math.nan,
        math.inf,
        True,
        "0.5",
        None,
        [],
        Adaptive(mass=0),
        Adaptive(limit=0),
    ],
)
def test_what_is_no_budget_is_refused_and_told_what_is(budget: Any) -> None:
    with pytest.raises(BudgetError, match=r"must lie|not allowed"):
        check(budget)


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (50, 50),
        (0.3, 60),
        (1.0, 200),
        (Adaptive(), 200),
        (Adaptive(limit=0.5), 100),
        (np.int64(7), 7),
    ],
)
def test_a_budget_becomes_a_number_of_tokens(budget: Any, limit: int) -> None:
    assert limit_of(budget, 200) == limit
