"""Mending an index folder: whatever is made from the passages is made anew where it is damaged."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from foveate.blocks.errors import IndexCorruptError, IndexNotFoundError
from foveate.blocks.progress import silent

from ._catalog import Catalog, translated
from ._catalog_writer import CatalogWriter
from ._derived import check_part, cluster, discard, lexical_name, names, sweep
from ._manifest import MANIFEST, STORE, parse_manifest, read_manifest
from .lexical import LexicalWriter

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.progress import Progress

    from ._state import ClusterPart, LexicalPart, State


def repair(folder: Path, *, progress: Progress | None = None) -> tuple[str, ...]:
    """See `Index.repair`."""
    if not (folder / STORE).exists():
        read_manifest(folder)  # says what is missing
    catalog = CatalogWriter(folder / STORE)
    try:
        catalog.check()
        with translated(catalog.path):
            mended = [*_mend_manifest(folder, catalog)]
            before = catalog.state()
            sweep(folder, before)
            after = _mend(folder, catalog, before, progress or silent)
            if after != before:
                catalog.commit(after)
                discard(folder, names(before) - names(after))
    finally:
        catalog.close()
    return (*mended, *sorted(names(before) - names(after)))


def _mend_manifest(folder: Path, catalog: Catalog) -> list[str]:
    try:
        read_manifest(folder)
        return []
    except (IndexCorruptError, IndexNotFoundError):
        text = catalog.meta("manifest")
        parse_manifest(text, catalog.path)
        fresh = folder / f"{MANIFEST}.new"
        fresh.write_text(text, "utf-8")
        os.replace(fresh, folder / MANIFEST)
        return [MANIFEST]


def _mend(folder: Path, catalog: CatalogWriter, state: State, progress: Progress) -> State:
    after = replace(state, generation=state.generation + 1)
    if state.lexical and _is_damaged(folder, state.lexical):
        after = replace(after, lexical=_index_words(folder, catalog, after, progress))
    if state.clusters and _is_damaged(folder, state.clusters):
        progress("cluster", 0, 1)
        after = replace(after, clusters=cluster(folder, catalog, after))
        progress("cluster", 1, 1)
    return state if after.lexical == state.lexical and after.clusters == state.clusters else after


def _is_damaged(folder: Path, part: LexicalPart | ClusterPart) -> bool:
    try:
        check_part(folder, part)
    except IndexCorruptError:
        return True
    return False


def _index_words(folder: Path, catalog: Catalog, state: State, progress: Progress) -> LexicalPart:
    writer = LexicalWriter(folder / lexical_name(state.generation), None)
    for done, (key, passage) in enumerate(catalog.walk(), start=1):
        writer.add(key, passage.title, passage.text)
        progress("index", done, state.count)
    return writer.finish()
