"""An embedder without a model, and a process that changes an index and dies at any step."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import sys
from typing import Any

import numpy as np

from foveate.blocks.passage import Passage
from foveate.rag.index import Index
from foveate.rag.retrievers.embedder import EmbedderIdentity

_TOUCHING_FILES = ("open", "os.", "shutil.", "sqlite3.")


class HashEmbedder:
    """Bags of words, each word hashed to a direction: texts with the same words are the same."""

    def __init__(self, dim: int = 32, digest: str = "0" * 32) -> None:
        self.identity = EmbedderIdentity("hashed words", dim, digest)
        self.texts: list[str] = []

    def embed(self, texts: Any, *, query: bool = False, progress: Any = None) -> Any:
        self.texts += texts
        vectors = np.array([self._embed(text) for text in texts], dtype=np.float32)
        if progress:
            progress("embed", len(texts), len(texts))
        return vectors.reshape(len(texts), self.identity.dim)

    def _embed(self, text: str) -> Any:
        vector = np.full(self.identity.dim, 1e-3)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
            vector += np.random.default_rng(seed).standard_normal(self.identity.dim)
        return vector / np.linalg.norm(vector)


class Steps:
    """Counts file and database accesses and calls for progress, and dies at one of them."""

    def __init__(self, folder: str, die_at: int) -> None:
        self.folder, self.die_at, self.count = folder, die_at, 0
        self.watching = False
        sys.addaudithook(self._audit)
        self._connect = sqlite3.connect
        sqlite3.connect = self._traced  # type: ignore[assignment]

    def step(self, *_: object) -> None:
        if self.watching:
            self.count += 1
            if self.count == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def _audit(self, event: str, args: tuple[object, ...]) -> None:
        if event.startswith(_TOUCHING_FILES) and any(self.folder in str(arg) for arg in args):
            self.step()

    def _traced(self, *args: Any, **options: Any) -> sqlite3.Connection:
        connection = self._connect(*args, **options)
        connection.set_trace_callback(self.step)
        return connection


def main(action: str, folder: str, die_at: str) -> None:
    if action == "hold":
        _hold(folder)
        return
    steps = Steps(folder, int(die_at))
    with Index.open(folder, embedder=HashEmbedder()) as index:
        steps.watching = True
        if action == "add":
            index.add(
                [Passage("grey heron", "a"), Passage("black stork", "z")], progress=steps.step
            )
        else:
            index.delete(["a", "b"], progress=steps.step)
    sys.stdout.write(str(steps.count))


def _hold(folder: str) -> None:
    """Stay in the middle of adding until a line comes in."""

    def wait(stage: str, _done: int, _total: int | None) -> None:
        if stage == "index":
            sys.stdout.write("writing\n")
            sys.stdout.flush()
            sys.stdin.readline()

    with Index.open(folder, embedder=HashEmbedder()) as index:
        index.add([Passage("kingfisher", "k")], progress=wait)


if __name__ == "__main__":
    main(*sys.argv[1:])
