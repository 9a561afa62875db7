"""A retrieval index: one folder on disk with passages, a lexical index, and vectors.

    index = Index.create("my.index")
    index.add(passages)
    hits = index.retriever().retrieve("How do I parse ISO 8601 dates?")

Each change is one transaction: it happens whole or, after an error or a crash, not at all. One
writer at a time; readers, in this process or another, see the last commit. Open it once in each
process, after forking.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from foveate.blocks.errors import EmbedderMismatchError, InputError

from .retrievers._embedding import IndexEmbedder, load_embedder
from .retrievers._folder import check_free, disk_bytes, make_folder
from .retrievers._manifest import Manifest, read_manifest
from .retrievers._reader import Reader
from .retrievers._repair import repair
from .retrievers._writer import Change, Writer
from .retrievers.dense import DenseRetriever
from .retrievers.fused import FusedRetriever
from .retrievers.lexical import LexicalRetriever

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foveate.blocks.passage import Passage
    from foveate.blocks.progress import Progress

    from .retrievers.base import Retriever
    from .retrievers.embedder import EmbedderIdentity, TextEmbedder

__all__ = ["Change", "Index", "IndexStats", "Mode"]

Mode = Literal["fused", "lexical", "dense"]


@dataclass(frozen=True, slots=True)
class IndexStats:
    """An index in figures.

    Attributes:
        passages: How many it holds.
        generation: Commits so far.
        disk_bytes: Bytes of all its files.
        embedder: The embedder of its vectors; None when it has none.
        clustered: Vectors that are searched by cluster; the others are compared one by one.
    """

    passages: int
    generation: int
    disk_bytes: int
    embedder: EmbedderIdentity | None
    clustered: int


class Index:
    """An index folder, open for reading and writing; thread-safe. Get one by `create` or `open`.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path, embedder: IndexEmbedder | None) -> None:
        self.folder = folder
        self._embedder = embedder
        self._reader = Reader(folder)

    @classmethod
    def create(
        cls, folder: str | Path, *, embedder: str | Path | TextEmbedder | None = "minilm"
    ) -> Self:
        """Make an empty index.

        Args:
            folder: Where to; must not exist, or be empty.
            embedder: A model name, folder or Hugging Face id of the sentence-transformers kind, or
                an embedder of your own; None for an index that is lexical only.

        Raises:
            InputError: There is something in the folder; it stays as it is.
            ModelError: The embedder cannot be had.
        """
        folder = Path(folder)
        check_free(folder)
        if embedder is None:
            make_folder(folder, Manifest(None))
            return cls(folder, None)
        given = load_embedder(embedder)
        make_folder(folder, Manifest(given.identity))
        return cls(folder, IndexEmbedder(folder, given.identity, given))

    @classmethod
    def open(cls, folder: str | Path, *, embedder: str | Path | TextEmbedder | None = None) -> Self:
        """Open an index, and check it.

        Args:
            folder: The index folder.
            embedder: The one it was created with, by another name or path, or one of your own. None
                finds it by the name that it had then, when it is first needed.

        Raises:
            IndexNotFoundError: There is no index in the folder.
            IndexCorruptError: A file is truncated or altered.
            EmbedderMismatchError: The index was built with another embedder.
        """
        folder = Path(folder)
        identity = read_manifest(folder).embedder
        given = None if embedder is None else load_embedder(embedder)
        if identity is None:
            if given:
                raise EmbedderMismatchError(
                    f"{folder} was built without an embedder, not with {given.identity.name!r}; "
                    "open it without one"
                )
            return cls(folder, None)
        return cls(folder, IndexEmbedder(folder, identity, given))

    @staticmethod
    def repair(folder: str | Path, *, progress: Progress | None = None) -> tuple[str, ...]:
        """Make damaged parts anew from the passages.

        Returns:
            Names of what was mended; empty when all was well.

        Raises:
            IndexCorruptError: The passages themselves are damaged; nothing was changed.
        """
        return repair(Path(folder), progress=progress)

    def add(
        self,
        passages: Iterable[Passage],
        *,
        whole_documents: bool = False,
        progress: Progress | None = None,
    ) -> Change:
        """Add passages, or replace those of the same id; unchanged ones cost nothing.

        Args:
            passages: Any iterable; read once, in batches. Without an id, a passage is named by its
                content. Metadata must be what JSON can hold.
            whole_documents: The passages are all there is of their documents
                (`metadata["document"]`): others of the same documents are removed.
            progress: Called with "embed", "index", "cluster" and "commit".

        Raises:
            InputError: A passage cannot be stored; nothing was changed.
            StoreError: Someone else is writing, or the disk is full; nothing was changed.
        """
        with self._writer(progress) as writer:
            change = writer.add(passages, whole_documents=whole_documents)
            writer.commit()
        return change

    def delete(
        self,
        ids: Iterable[str] = (),
        *,
        documents: Iterable[str] = (),
        progress: Progress | None = None,
    ) -> int:
        """Remove passages by id, or all of some documents; unknown names are no error.

        Returns:
            How many passages were removed.

        Raises:
            StoreError: Someone else is writing; nothing was changed.
        """
        if isinstance(ids, str) or isinstance(documents, str):
            raise InputError("ids and documents are lists of names; put the name in a list")
        with self._writer(progress) as writer:
            removed = writer.remove(ids, documents)
            writer.commit()
        return removed

    def retriever(self, mode: Mode | None = None) -> Retriever:
        """A retriever over this index; it follows later changes.

        Args:
            mode: "lexical" (BM25), "dense" (cosine of embeddings), or "fused" (both, by reciprocal
                ranks). None is the best that the index can: fused when it has vectors.

        Raises:
            InputError: There is no such mode, or the index has no vectors for it.
        """
        mode = mode or ("fused" if self._embedder else "lexical")
        if mode not in ("fused", "lexical", "dense"):
            raise InputError(f"mode is {mode!r}; choose 'fused', 'lexical' or 'dense'")
        lexical = LexicalRetriever(self._reader)
        if mode == "lexical":
            return lexical
        if not self._embedder:
            raise InputError(
                f"{self.folder} has no vectors, so mode {mode!r} cannot be; use 'lexical', "
                "or make an index with an embedder"
            )
        dense = DenseRetriever(self._reader, self._embedder.query)
        return dense if mode == "dense" else FusedRetriever([lexical, dense])

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, if there is one."""
        return self._reader.find(passage_id)

    def stats(self) -> IndexStats:
        """The index in figures."""
        state = self._reader.state()
        return IndexStats(
            passages=state.count,
            generation=state.generation,
            disk_bytes=disk_bytes(self.folder),
            embedder=self._embedder.identity if self._embedder else None,
            clustered=state.clusters.live if state.clusters else 0,
        )

    def __len__(self) -> int:
        return self._reader.state().count

    def close(self) -> None:
        """Let go of the files; twice does no harm."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _writer(self, progress: Progress | None) -> Writer:
        self._reader.state()  # a closed index takes no changes
        embed = self._embedder.documents if self._embedder else None
        return Writer(self.folder, embed=embed, progress=progress)
