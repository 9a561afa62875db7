"""The default embedder: a sentence-transformers model by name, folder or Hugging Face id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from foveate.blocks.embedder import SentenceEncoder, batches
from foveate.blocks.errors import ModelDownloadError
from foveate.blocks.sentence_transformer import MODULES, files_digest

from ._manifest import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from foveate.blocks.progress import Progress

__all__ = ["Embedder", "EmbedderIdentity", "TextEmbedder", "batches"]

_HUB_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
_HUB_UNUSED = ["onnx/*", "openvino/*"]


class TextEmbedder(Protocol):
    """What an index needs of an embedder."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Which embedder it is."""

    def embed(
        self, texts: Sequence[str], *, query: bool = False, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: What to embed.
            query: Whether they are queries; models may want those marked.
            progress: Called with "embed" and the texts done.

        Returns:
            A vector for each text, shape (n, dim).
        """


class Embedder(SentenceEncoder):
    """A sentence-transformers model. Thread-safe; weights load at the first use.

    Args:
        source: A name of the model catalogue, a model folder, or a Hugging Face id.
        device: "auto" (cuda, then mps, then cpu) or a torch device.

    Raises:
        ModelNotFoundError: There is no such model.
        ModelDownloadError: A Hugging Face id could not be fetched.
        UnsupportedModelError: It asks for something that is not supported, which is named.
    """

    def __init__(self, source: str | Path = "minilm", *, device: str = "auto") -> None:
        folder = _folder(source)
        super().__init__(folder, device=device)
        name = str(folder.absolute()) if folder == Path(source) else str(source)
        self.identity = EmbedderIdentity(name, self.dim, files_digest(folder))


def _folder(source: str | Path) -> Path:
    if (Path(source) / MODULES).is_file():
        return Path(source)
    from foveate.rag import models

    found = models.resolve(source)
    return found if isinstance(found, Path) else _fetch(found)


def _fetch(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(hub_id, allow_patterns=_HUB_FILES, ignore_patterns=_HUB_UNUSED)
        )
    except (OSError, ValueError) as error:
        raise ModelDownloadError(
            f"the model {hub_id!r} could not be fetched from Hugging Face: {error}; give a model "
            "folder, or 'minilm'"
        ) from error
