"""Features of the second hop: what the best units of a first look lead to."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from foveate.compressors.hops import second_query
from foveate.compressors.lexical import bm25
from foveate.compressors.ranking import TINY, head_ranking, looked, share_ranking, standardise

from .attention import Attention
from .words import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foveate.blocks.reading import Reading

TOP_UNITS = 3
"""Best units of a first look, from which a second passage may be reached."""

SHOWN_UNITS = 2
"""How many of them the second reading is shown."""


class Bridges(Attention, Words):
    """What a unit has in common with the best ones, by words, by title and by a second reading."""

    @cached_property
    def first_look(self) -> NDArray[np.float64]:
        """What the second hop starts from: attention, both ways, and BM25, added."""
        return 0.5 * (self.attention + self.share + self.bm25)

    @cached_property
    def top(self) -> list[int]:
        """The best units of the first look."""
        best: list[int] = np.argsort(-self.first_look, kind="stable")[:TOP_UNITS].tolist()
        return best

    @cached_property
    def rank(self) -> NDArray[np.float64]:
        """Log rank by the first look, from 1."""
        order = np.argsort(-self.first_look, kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = np.log1p(np.arange(len(order)))
        return ranks

    @cached_property
    def bridge(self) -> NDArray[np.float64]:
        """Likeness to a top unit of another passage in what the query does not say, in [0, 1].

        A question of two hops names only the first; the unit that answers it shares its words with
        the second.
        """
        best = np.zeros(len(self.owners))
        for unit in self.top:
            beyond = [term for term in self.documents[unit] if term not in self.query]
            raw, _ = bm25(beyond, self.documents)
            like = raw / max(float(raw[unit]), TINY)
            like[self.owners == self.owners[unit]] = 0.0
            best = np.maximum(best, like)
        return best

    @cached_property
    def named(self) -> NDArray[np.float64]:
        """1 for the units of a passage whose title a top unit of another passage names."""
        tops = [(self.owners[u], self.words[u]) for u in self.top]
        named = [
            float(any(title and owner != p and title.keys() <= words for owner, words in tops))
            for p, title in enumerate(self.titles)
        ]
        return np.array(named)[self.owners]

    @cached_property
    def names(self) -> NDArray[np.float64]:
        """1 for the units that name the title of another passage with a top unit."""
        owners = {int(self.owners[u]) for u in self.top}
        titles = [(p, self.titles[p].keys()) for p in owners if self.titles[p]]
        return np.array(
            [
                float(any(p != owner and title <= words for p, title in titles))
                for owner, words in zip(self.owners.tolist(), self.words, strict=True)
            ]
        )

    @cached_property
    def hop_attention(self) -> NDArray[np.float64]:
        """As `attention`, of the second reading."""
        return head_ranking(self.second.mass)

    @cached_property
    def hop_share(self) -> NDArray[np.float64]:
        """As `share`, of the second reading."""
        return standardise(share_ranking(self.second.mass))

    @cached_property
    def hop_looked(self) -> NDArray[np.float64]:
        """As `looked`, of the second reading."""
        return looked(self.second)

    @cached_property
    def hop_title(self) -> NDArray[np.float64]:
        """As `title_attention`, of the second reading."""
        return self.on_titles(self.second)

    @cached_property
    def second(self) -> Reading:
        """The reading of the query together with the best units."""
        return self.candidates.read(second_query(self.candidates, self.top[:SHOWN_UNITS]))
