"""Sentence similarity by MiniLM: the cosine of title and unit to the query.

Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks" (2019),
section 3, with the distilled encoder of Wang et al., "MiniLM" (2020). A baseline that reads no
unit in its context; the proxy is never woken.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache

from foveate.blocks.candidates import best_per_passage
from foveate.blocks.embedder import SentenceEncoder
from foveate.blocks.errors import ModelNotFoundError
from foveate.blocks.home import home
from foveate.blocks.sentence_transformer import MODULES

from .base import Candidates, Scorer, Scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

MAX_REMEMBERED_VECTORS = 16_384


class Embedding(Scorer):
    """Cosine similarity, negative ones as 0; comparable across passages, but no probabilities.

    Args:
        folder: Folder of a sentence-transformers model; None takes the MiniLM that was pulled.
        device: "auto" (cuda, then mps, then cpu) or a torch device.
    """

    name = "embedding"
    reads = False

    def __init__(self, folder: Path | None = None, *, device: str = "auto") -> None:
        self._folder, self._device = folder, device
        self._lock = threading.Lock()
        self._encoder: SentenceEncoder | None = None
        self._vectors: LRUCache[str, NDArray[np.float32]] = LRUCache(MAX_REMEMBERED_VECTORS)

    def score(self, candidates: Candidates) -> Scores:
        """See `Scorer.score`.

        Raises:
            ModelNotFoundError: The model was not pulled.
        """
        titles = [passage.title.strip() for passage in candidates.passages]
        texts = [
            f"{titles[owner]}\n{text}" if titles[owner] else text
            for owner, text in zip(candidates.owners, candidates.texts, strict=True)
        ]
        encoder = self._ready()
        query = encoder.embed([candidates.query], query=True)[0]
        cosines = self._embed(encoder, texts) @ query
        units = np.clip(cosines.astype(np.float64), 0.0, 1.0)
        return Scores(units, best_per_passage(candidates, units), nothing=0.0)

    def _embed(self, encoder: SentenceEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dim); those not remembered in one batched call."""
        with self._lock:
            found = {text: self._vectors[text] for text in set(texts) if text in self._vectors}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            fresh = {t: v.copy() for t, v in zip(new, encoder.embed(new), strict=True)}
            with self._lock:
                self._vectors.update(fresh)
            found |= fresh
        vectors = np.zeros((len(texts), encoder.dim), dtype=np.float32)
        for place, text in enumerate(texts):
            vectors[place] = found[text]
        return vectors

    def _ready(self) -> SentenceEncoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = SentenceEncoder(
                    self._folder or minilm_folder(), device=self._device
                )
            return self._encoder


def minilm_folder() -> Path:
    """Where `foveate models pull minilm` puts the model.

    Raises:
        ModelNotFoundError: It is not there.
    """
    folder = home() / "models" / "minilm"
    if not (folder / MODULES).is_file():
        raise ModelNotFoundError(
            f"'embedding' needs the model minilm, which is not in {folder}; run "
            "`foveate models pull minilm`, or choose another scorer"
        )
    return folder
