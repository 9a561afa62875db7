"""What is made from the passages: the lexical folder and the file of clusters."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from foveate.blocks.errors import IndexCorruptError

from . import dense
from ._analysis import ANALYSIS_VERSION
from ._manifest import REPAIR, RESTORE
from ._seal import PartGoneError, check_seal, seal
from ._state import ClusterPart, LexicalPart

if TYPE_CHECKING:
    from pathlib import Path

    from ._catalog import Catalog
    from ._state import State

_LEXICAL, _CLUSTERS = "lexical-", "vectors-"
_BLOCK_ROWS = 4096


def check_part(folder: Path, part: LexicalPart | ClusterPart) -> None:
    """See that what a commit names is there and whole.

    Raises:
        IndexCorruptError: A file is damaged or gone, or this Foveate cuts words in another way.
    """
    try:
        verify_part(folder, part)
    except PartGoneError as gone:
        raise IndexCorruptError(f"{gone.path} is missing. {REPAIR}") from gone


def verify_part(folder: Path, part: LexicalPart | ClusterPart) -> None:
    """As `check_part`, but a file that is gone raises `PartGoneError`: it may have been swept."""
    if isinstance(part, ClusterPart):
        check_seal(folder / part.file, part.seal, REPAIR)
        return
    for name, expected in part.files.items():
        check_seal(folder / part.folder / name, expected, REPAIR)
    if part.analysis != ANALYSIS_VERSION:
        raise IndexCorruptError(
            f"{folder / part.folder} was written by a Foveate that cuts words otherwise. {REPAIR}"
        )


def lexical_name(generation: int) -> str:
    """Name of the lexical folder of a commit."""
    return f"{_LEXICAL}{generation}"


def clusters_are_stale(state: State) -> bool:
    """Whether too many vectors are outside the clusters, or too many inside are dead."""
    clusters = state.clusters
    if clusters is None:
        return state.count > dense.FLAT_LIMIT
    too_dead = clusters.dead > dense.DEAD_LIMIT * clusters.rows
    return too_dead or state.count - clusters.live > dense.FLAT_LIMIT


def cluster(folder: Path, catalog: Catalog, state: State) -> ClusterPart | None:
    """Cluster all vectors for a commit; None when they are few by now."""
    if state.count <= dense.FLAT_LIMIT:
        return None
    path = folder / f"{_CLUSTERS}{state.generation}.faiss"
    keys = sorted(catalog.keys_above(0))
    nlist = dense.cluster_count(len(keys))
    _, sample = catalog.vectors(keys[:: max(1, len(keys) // dense.sample_size(nlist))])
    rows = dense.write_clusters(path, sample, catalog.walk_vectors(_BLOCK_ROWS), nlist=nlist)
    if rows != len(keys):
        raise IndexCorruptError(
            f"{catalog.path} is damaged ({rows} vectors for {len(keys)} passages). {RESTORE}"
        )
    return ClusterPart(path.name, seal(path), keys[-1], rows, 0)


def names(state: State) -> set[str]:
    """Names of what a commit is made of, beside the passages."""
    found = set()
    if state.lexical:
        found.add(state.lexical.folder)
    if state.clusters:
        found.add(state.clusters.file)
    return found


def sweep(folder: Path, state: State) -> None:
    """Remove what the last commit does not name: a crash left it. Needs the write lock."""
    derived = {
        path.name for path in folder.iterdir() if path.name.startswith((_LEXICAL, _CLUSTERS))
    }
    discard(folder, derived - names(state))


def discard(folder: Path, doomed: set[str]) -> None:
    """Remove files and folders, as far as it goes."""
    for name in doomed:
        path = folder / name
        # Windows keeps what a reader has open; a later sweep gets it.
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
