"""Vectors of sentences: sentence-transformers models, on plain transformers.

Reads what such a model says about itself (steps, pooling, length, case, prompts) and does exactly
that, or refuses by name what it cannot do.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ModelNotFoundError
from .progress import silent
from .sentence_transformer import read_recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import torch
    from numpy.typing import NDArray

    from .progress import Progress

_BATCH_TOKENS = 4096  # of a batch with its padding
_WINDOW_TEXTS = 2048  # sorted by length together


class SentenceEncoder:
    """A sentence-transformers model folder. Thread-safe; weights load at the first use.

    Args:
        folder: The model folder, with its `modules.json`.
        device: "auto" (cuda, then mps, then cpu) or a torch device.

    Raises:
        ModelNotFoundError: It is no such folder.
        UnsupportedModelError: It asks for something that is not supported, which is named.
    """

    def __init__(self, folder: Path, *, device: str = "auto") -> None:
        self._recipe = read_recipe(folder)
        self._device = device
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._recipe.dim

    def embed(
        self, texts: Sequence[str], *, query: bool = False, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: What to embed.
            query: Whether they are queries; models may want those marked.
            progress: Called with "embed" and the texts done.

        Returns:
            A vector of length 1 for each text, shape (n, dim).
        """
        prompt = self._recipe.query_prompt if query else self._recipe.document_prompt
        vectors = np.empty((len(texts), self._recipe.dim), dtype=np.float32)
        for start in range(0, len(texts), _WINDOW_TEXTS):
            window = [prompt + text.strip() for text in texts[start : start + _WINDOW_TEXTS]]
            done = start
            for places, block in self._embed_window(window):
                vectors[start + np.array(places)] = block
                done += len(places)
                (progress or silent)("embed", done, len(texts))
        return vectors

    def _embed_window(self, texts: list[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        import torch

        model, tokenizer = self._load()
        lowered = [text.lower() for text in texts] if self._recipe.lower else texts
        encoded = tokenizer(lowered, truncation=True, max_length=self._max_tokens(model, tokenizer))
        lengths = [len(ids) for ids in encoded["input_ids"]]
        for places in batches(lengths, _BATCH_TOKENS):
            padded = {
                name: torch.tensor(
                    _pad([encoded[name][i] for i in places], _filler(tokenizer, name))
                )
                for name in encoded
            }
            with torch.inference_mode():
                inputs = {name: ids.to(model.device) for name, ids in padded.items()}
                hidden = model(**inputs).last_hidden_state
                yield places, self._pool(hidden, inputs["attention_mask"]).cpu().numpy()

    def _pool(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        import torch

        if self._recipe.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            weights = mask[..., None].to(hidden.dtype)
            pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(pooled, dim=-1)

    def _max_tokens(self, model: Any, tokenizer: Any) -> int:
        if self._recipe.max_tokens:
            return self._recipe.max_tokens
        return int(min(model.config.max_position_embeddings, tokenizer.model_max_length))

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._recipe.folder, self._device)
            return self._loaded


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Places of texts, longest first, in batches of at most `budget` tokens once padded."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _load(folder: Path, device: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    from .loading import best_device

    try:
        with _no_progress_bar():
            model = AutoModel.from_pretrained(
                folder, dtype="float32", use_safetensors=True, local_files_only=True
            )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"no embedder could be loaded from {folder}: {error}; give a folder with config.json, "
            "tokenizer.json and *.safetensors"
        ) from error
    return model.to(best_device() if device == "auto" else device).eval(), tokenizer


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    import transformers

    logging: Any = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _pad(rows: list[list[int]], filler: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [row + [filler] * (longest - len(row)) for row in rows]


def _filler(tokenizer: Any, name: str) -> int:
    fillers = {"input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id}
    return int(fillers.get(name, 0))
