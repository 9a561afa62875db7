"""The embedder of an index: found when first needed, and held to what the index was built with."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foveate.blocks.errors import (
    EmbedderMismatchError,
    ModelError,
    ModelNotFoundError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from foveate.blocks.progress import Progress

    from ._manifest import EmbedderIdentity
    from .embedder import TextEmbedder


class IndexEmbedder:
    """Embeds for one index. Thread-safe where the embedder is.

    Args:
        folder: The index folder, for messages.
        identity: What the index was built with.
        embedder: The embedder, where it is at hand.

    Raises:
        EmbedderMismatchError: `embedder` is another.
    """

    def __init__(
        self, folder: Path, identity: EmbedderIdentity, embedder: TextEmbedder | None = None
    ) -> None:
        self._folder = folder
        self.identity = identity
        self._lock = threading.Lock()
        self._embedder = embedder and self._checked(embedder)

    def documents(
        self, texts: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Vectors of length 1, shape (n, dim)."""
        return self._unit(self._get().embed(texts, progress=progress), len(texts))

    def query(self, text: str) -> NDArray[np.float32]:
        """Vector of length 1, shape (dim,)."""
        vector: NDArray[np.float32] = self._unit(self._get().embed([text], query=True), 1)[0]
        return vector

    def _get(self) -> TextEmbedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._checked(self._find())
            return self._embedder

    def _find(self) -> TextEmbedder:
        try:
            return load_embedder(self.identity.name)
        except (ModelNotFoundError, UnknownNameError) as error:
            raise ModelNotFoundError(
                f"{self._folder} was built with embedder {self.identity.name!r}, which is not "
                f"found: {error}; or pass it: Index.open(folder, embedder=...)"
            ) from error

    def _checked(self, embedder: TextEmbedder) -> TextEmbedder:
        given, wanted = embedder.identity, self.identity
        if not given.matches(wanted):
            raise EmbedderMismatchError(
                f"{self._folder} was built with embedder {wanted.name!r} ({wanted.dim} dimensions, "
                f"digest {wanted.digest[:12]}), not with {given.name!r} ({given.dim}, "
                f"{given.digest[:12]}); open it with that one, or index the documents again"
            )
        return embedder

    def _unit(self, vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
        expected = (count, self.identity.dim)
        found = np.asarray(vectors, dtype=np.float32)
        if found.shape != expected or not np.isfinite(found).all():
            raise ModelError(
                f"embedder {self.identity.name!r} gave an array of shape {found.shape}, finite: "
                f"{bool(np.isfinite(found).all())}; it must be finite, of shape {expected}"
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        unit: NDArray[np.float32] = found / np.maximum(lengths, np.finfo(np.float32).tiny)
        return unit


def load_embedder(source: str | Path | TextEmbedder) -> TextEmbedder:
    """An embedder as it is, or the sentence-transformers model of that name, folder or id."""
    if isinstance(source, str | Path):
        from .embedder import Embedder

        return Embedder(source)
    return source
