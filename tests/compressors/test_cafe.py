from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.compressors import Scorer
from foveate.compressors.cafe import Cafe
from foveate.compressors.retrieval_heads import RetrievalHeads

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy

QUERY = "What did the ship carry?"
PASSAGES = [
    *(Passage(f"Ship {n} left. It carried {n} barrels of salt.", str(n)) for n in range(7)),
    Passage("", "empty"),
]


class Ranked(Scorer):
    """Passages by the scores that it is given."""

    name = "ranked"

    def __init__(self, passages: list[float]) -> None:
        self.passages = np.array(passages)

    def score(self, candidates: Candidates) -> Scores:
        return Scores(self.passages[candidates.owners], self.passages, 0.0)


RANKED = Ranked([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.0])


def test_the_worse_half_is_dropped_and_the_rest_is_read_alone(tiny_proxy: Proxy) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    scores = Cafe(coarse=RANKED).score(candidates)
    staying = [1, 3, 5, 6]
    alone = Candidates(QUERY, [PASSAGES[i] for i in staying], proxy=tiny_proxy)
    expected = RetrievalHeads().score(alone)
    inside = np.isin(candidates.owners, staying)
    np.testing.assert_allclose(scores.units[inside], expected.units, atol=1e-6)
    np.testing.assert_allclose(scores.passages[staying], expected.passages, atol=1e-6)
    assert scores.units[~inside].max() < scores.units[inside].min()
    # Among what was dropped, the first stage's order holds.
    assert scores.passages[4] > scores.passages[2] > scores.passages[0]


def test_reading_again_costs_query_rows_alone(
    tiny_proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = Candidates(QUERY, PASSAGES, proxy=tiny_proxy)
    _ = candidates.blocks
    monkeypatch.setattr(tiny_proxy, "encode", None)
    assert len(Cafe().score(candidates).units) == len(candidates.units)


@pytest.mark.parametrize(("share", "count"), [(0.5, 4), (1.0, 8), (0.01, 3)])
def test_the_share_says_how_many_stay(share: float, count: int) -> None:
    assert len(Cafe(share=share).stays(Scores(np.zeros(0), RANKED.passages, 0.0))) == count


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="share"):
        Cafe(share=share)
