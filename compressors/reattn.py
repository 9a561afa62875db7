"""ReAttn: attention weighed again, against echoes of the query and against lone peaks.

Tian et al., "ReAttn: Improving Attention-based Re-ranking via Attention Re-weighting",
https://arxiv.org/abs/2602.19969: a cross-document IDF takes weight from those tokens of the query
that stand in many candidates, and an entropy term favours evidence on which the attention is
spread over several tokens. With N passages, df(t) of them holding token t, a the attention within
a unit or passage of n tokens and H its entropy, the forms taken here are

    w_t = log(1 + N / df(t)) / log(1 + N)  if the query holds t, else 1
    f   = 1/2 + 1/2 H(a) / log n

and both multiply the attention of any scorer, after the fact. Tokens are compared by what they
spell, without case and leading blanks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .grouped import sum_by
from .retrieval_heads import RetrievalHeads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from foveate.blocks.by_token import TokenAttention
    from foveate.blocks.candidates import Candidates
    from foveate.blocks.reading import Reading
    from foveate.blocks.tokens import TextTokenizer

_TINY = 1e-12


class ReAttn(RetrievalHeads):
    """`retrieval-heads` with the weighing switched on."""

    name = "reattn"

    def __init__(self) -> None:
        super().__init__(reattn=True)


def reweighed(candidates: Candidates) -> Reading:
    """The reading of the query with its unit mass weighed again; each head keeps its total."""
    reading = candidates.read(candidates.query, by_token=True)
    tokens = reading.by_token
    if tokens is None or not reading.mass.size:
        return reading
    weights = query_idf(tokens, candidates.query, candidates.reader.tokenizer)
    inside = tokens.units >= 0
    units, count = tokens.units[inside], reading.mass.shape[1]
    mass = np.empty_like(reading.mass)
    for head, row in enumerate(tokens.mean[:, inside]):
        weighed = row * weights[inside]
        mass[head] = sum_by(units, weighed, count) * spread(weighed, units, count)
    mass *= reading.mass.sum(1, keepdims=True) / np.maximum(mass.sum(1, keepdims=True), _TINY)
    return replace(reading, mass=mass)


def query_idf(tokens: TokenAttention, query: str, tokenizer: TextTokenizer) -> NDArray[np.float64]:
    """w_t of each token, in (0, 1]: (tokens,)."""
    spell = spelling(tokenizer)
    asked = {spell(token) for token in tokenizer.encode_text(query).ids} - {""}
    ids, of_token = np.unique(tokens.ids, return_inverse=True)
    names = [spell(token) for token in ids]
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    name_of_token = np.array([codes[name] for name in names], dtype=np.int64)[of_token]
    passages = int(tokens.passages.max(initial=-1)) + 1
    pairs = np.unique(name_of_token * max(passages, 1) + tokens.passages)
    df = np.bincount(pairs // max(passages, 1), minlength=len(codes))
    idf = np.log1p(passages / np.maximum(df, 1)) / np.log1p(max(passages, 1))
    echoed = np.array([name in asked for name in codes], dtype=np.bool_)
    weights: NDArray[np.float64] = np.where(echoed, idf, 1.0)[name_of_token]
    return weights


def spread(
    attention: NDArray[np.floating], groups: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """The factor f of each group of tokens, in [1/2, 1]; 1/2 for a group of one or none.

    Args:
        attention: Attention on each token, none negative: (tokens,).
        groups: Group of each token: (tokens,).
        count: Number of groups.
    """
    sums = sum_by(groups, attention, count)
    share = attention / np.maximum(sums[groups], _TINY)
    entropy = sum_by(groups, -share * np.log(np.maximum(share, _TINY)), count)
    most = np.log(np.maximum(np.bincount(groups, minlength=count), 2))
    factor: NDArray[np.float64] = 0.5 + 0.5 * np.clip(entropy / most, 0.0, 1.0)
    return factor


def spelling(tokenizer: TextTokenizer) -> Callable[[int], str]:
    """What a token id spells, without case and blanks around it."""
    return lambda token: str(tokenizer.hf.decode([int(token)])).strip().casefold()
