from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from foveate.blocks.errors import EmptyQueryError, IndexCorruptError
from foveate.blocks.passage import Passage
from foveate.rag.index import Index
from foveate.rag.retrievers import dense

from .index_child import HashEmbedder

if TYPE_CHECKING:
    from pathlib import Path


class Vectors:
    """Embeds "n" as the n-th of some random vectors, which lie in bunches as texts do."""

    def __init__(self, rows: int, dim: int = 16) -> None:
        chance = np.random.default_rng(3)
        bunches = chance.standard_normal((20, dim))
        noise = chance.standard_normal((rows, dim))
        self.table = bunches[chance.integers(20, size=rows)] + 0.7 * noise
        self.table /= np.linalg.norm(self.table, axis=1, keepdims=True)
        self.identity = HashEmbedder(dim).identity

    def embed(self, texts: Any, *, query: bool = False, progress: Any = None) -> Any:
        return self.table[[int(text) for text in texts]].astype(np.float32)

    def nearest(self, number: int, alive: list[int], k: int) -> list[str]:
        scores = self.table[alive] @ self.table[number]
        return [str(alive[place]) for place in np.argsort(-scores)[:k]]


def passages(numbers: Any) -> list[Passage]:
    return [Passage(str(number), str(number)) for number in numbers]


def recall(index: Index, vectors: Vectors, alive: list[int], k: int = 10) -> float:
    retriever = index.retriever("dense")
    shares = []
    for number in range(0, len(vectors.table), 17):
        found = {hit.passage.id for hit in retriever.retrieve(str(number), k)}
        shares.append(len(found & set(vectors.nearest(number, alive, k))) / k)
    return float(np.mean(shares))


def test_few_vectors_are_searched_exactly(tmp_path: Path) -> None:
    vectors = Vectors(300)
    with Index.create(tmp_path / "new", embedder=vectors) as index:
        index.add(passages(range(300)))
        index.delete([str(number) for number in range(0, 300, 3)])
        alive = [number for number in range(300) if number % 3]
        assert recall(index, vectors, alive) == 1.0
        (best, second) = index.retriever("dense").retrieve("7", 2)
        assert best.passage.id == "7"
        assert best.score == pytest.approx(1.0, abs=1e-6)
        assert best.score > second.score


def test_many_vectors_are_clustered_and_still_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "FLAT_LIMIT", 200)
    vectors = Vectors(1200)
    with Index.create(tmp_path / "new", embedder=vectors) as index:
        index.add(passages(range(1000)))
        assert index.stats().clustered == 1000
        index.add(passages(range(1000, 1100)))
        assert index.stats().clustered == 1000
        index.delete([str(number) for number in range(100)])
        assert index.stats().clustered == 900
        alive = list(range(100, 1100))
        assert recall(index, vectors, alive) > 0.95
    with Index.open(tmp_path / "new", embedder=vectors) as index:
        assert recall(index, vectors, alive) > 0.95
        (hit,) = index.retriever("dense").retrieve("500", 1)
        assert hit.score == pytest.approx(1.0, abs=1e-6)


def test_clusters_are_made_anew_when_they_no_longer_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "FLAT_LIMIT", 200)
    vectors = Vectors(1200)
    with Index.create(tmp_path / "new", embedder=vectors) as index:
        index.add(passages(range(600)))
        index.delete([str(number) for number in range(200)])
        assert index.stats().clustered == 400
        index.add(passages(range(600, 1200)))
        assert index.stats().clustered == 1000
        assert recall(index, vectors, list(range(200, 1200))) > 0.95
        index.delete([str(number) for number in range(1100)])
        assert index.stats().clustered == 0
        assert recall(index, vectors, list(range(1100, 1200))) == 1.0
        assert list((tmp_path / "new").glob("*.faiss")) == []


def test_damaged_clusters_are_found_and_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "FLAT_LIMIT", 50)
    vectors = Vectors(300)
    with Index.create(tmp_path / "new", embedder=vectors) as index:
        index.add(passages(range(300)))
    (file,) = (tmp_path / "new").glob("vectors-*.faiss")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    with Index.open(tmp_path / "new", embedder=vectors) as index:
        with pytest.raises(IndexCorruptError, match=file.name):
            index.retriever("dense").retrieve("1")
        assert index.retriever("lexical").retrieve("1")
    assert Index.repair(tmp_path / "new") == (file.name,)
    with Index.open(tmp_path / "new", embedder=vectors) as index:
        assert recall(index, vectors, list(range(300))) > 0.95


def test_vectors_of_any_length_are_compared_by_angle(tmp_path: Path) -> None:
    vectors = Vectors(20)
    vectors.table *= np.arange(1, 21)[:, None]
    with Index.create(tmp_path / "new", embedder=vectors) as index:
        index.add(passages(range(20)))
        (hit,) = index.retriever("dense").retrieve("0", 1)
        assert (hit.passage.id, hit.score) == ("0", pytest.approx(1.0, abs=1e-6))


def test_an_empty_query_is_refused(tmp_path: Path) -> None:
    with (
        Index.create(tmp_path / "new", embedder=HashEmbedder()) as index,
        pytest.raises(EmptyQueryError),
    ):
        index.retriever("dense").retrieve("  ")


def test_it_runs_beside_torch_and_in_a_forked_process(tmp_path: Path) -> None:
    if not hasattr(__import__("os"), "fork"):
        pytest.skip("no fork on this system")
    script = """
import os, sys, warnings
import torch
sys.path.insert(0, sys.argv[2])
from index_child import HashEmbedder
from foveate.blocks.passage import Passage
from foveate.rag.index import Index

def ask():
    with Index.open(sys.argv[1], embedder=HashEmbedder()) as index:
        return index.retriever("dense").retrieve("word 7", 1)[0].passage.id

with Index.create(sys.argv[1], embedder=HashEmbedder()) as index:
    index.add([Passage(f"word {n}", f"p{n}") for n in range(2000)])
torch.randn(300, 300) @ torch.randn(300, 300)
assert ask() == "p7"
torch.randn(300, 300) @ torch.randn(300, 300)
warnings.simplefilter("ignore")
child = os.fork()
if not child:
    os._exit(ask() != "p7")
assert os.waitpid(child, 0)[1] == 0
"""
    tests = str(__import__("pathlib").Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "new"), tests],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
