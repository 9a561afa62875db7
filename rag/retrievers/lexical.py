"""BM25 over titles and texts, by tantivy.

An index is a folder that is never changed once it is committed. The next commit starts in a folder
of its own, from hard links to the files of the last one (tantivy writes each file once), so that
readers of the old one are not disturbed and a crash loses nothing.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from foveate.blocks.errors import StoreError

from ._analysis import (
    ANALYSIS_VERSION,
    gram_analyser,
    grams,
    import_tantivy,
    normalize,
    query_grams,
    query_words,
    word_analyser,
)
from ._seal import Seal, seal
from ._state import LexicalPart
from .base import Hit, check_request

if TYPE_CHECKING:
    from pathlib import Path

    from ._reader import Reader

_HEAP_BYTES = 64 << 20
_TITLE_BOOST = 1.0
_REWRITTEN = ("meta.json", ".managed.json")  # the only files that tantivy writes more than once
_FREQUENCIES = "freq"  # term frequencies, no positions: BM25 needs none


class LexicalRetriever:
    """Finds passages by their words: BM25 over title and text.

    Args:
        reader: The index.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def retrieve(self, query: str, k: int = 10) -> list[Hit]:
        """See `Retriever.retrieve`."""
        return self._reader.by_words(check_request(query, k), k)


class LexicalSearcher:
    """A committed lexical index, open for searching.

    Args:
        folder: The tantivy folder.
    """

    def __init__(self, folder: Path) -> None:
        index = import_tantivy().Index.open(str(folder))
        self._analyser = _register(index)
        index.config_reader("manual")
        self._searcher = index.searcher()
        self._schema = index.schema

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys and BM25 scores of the best `k`, best first; equal scores by key."""
        terms = self._terms(normalize(query))
        if not terms:
            return []
        tantivy = import_tantivy()
        should = tantivy.Occur.Should
        any_of = tantivy.Query.boolean_query([(should, term) for term in terms])
        hits = self._searcher.search(any_of, k, count=False).hits
        keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        found = [(int(key), float(score)) for key, (score, _) in zip(keys, hits, strict=True)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _terms(self, query: str) -> list[Any]:
        tantivy = import_tantivy()

        def term(field: str, value: str) -> Any:
            return tantivy.Query.term_query(self._schema, field, value, index_option=_FREQUENCIES)

        words = query_words(query, self._analyser)
        boost = tantivy.Query.boost_query
        return [
            *(term("text", word) for word in words),
            *(boost(term("title", word), _TITLE_BOOST) for word in words),
            *(term("grams", gram) for gram in query_grams(query)),
        ]


class LexicalWriter:
    """Writes the lexical index of the next commit.

    Args:
        folder: Where to; must not exist.
        previous: The last commit, lying beside `folder`, to go on from. It must be intact: what is
            wrong in it would be merged and sealed anew.
    """

    def __init__(self, folder: Path, previous: LexicalPart | None) -> None:
        self.folder = folder
        self._sealed = dict(previous.files) if previous else {}
        try:
            folder.mkdir()
            if previous:
                _link_all(folder.parent / previous.folder, folder)
                index = import_tantivy().Index.open(str(folder))
            else:
                index = import_tantivy().Index(_schema(), str(folder))
            _register(index)
            self._schema = index.schema
            # One thread: one segment for each commit, and the same one every time.
            self._writer = index.writer(_HEAP_BYTES, 1)
        except (OSError, ValueError) as error:
            raise _unwritable(folder, error) from error

    def add(self, key: int, title: str, text: str) -> None:
        """Index a passage."""
        title, text = normalize(title), normalize(text)
        document = import_tantivy().Document()
        document.add_unsigned("key", key)
        document.add_text("title", title)
        document.add_text("text", text)
        document.add_text("grams", f"{grams(title)} {grams(text)}")
        self._write(lambda: self._writer.add_document(document))

    def remove(self, key: int) -> None:
        """Forget a passage."""
        # By query: `delete_documents_by_term` of tantivy-py 0.27 finds nothing in unsigned fields.
        this = import_tantivy().Query.term_query(self._schema, "key", key)
        self._write(lambda: self._writer.delete_documents_by_query(this))

    def finish(self) -> LexicalPart:
        """Write it all out."""
        self._write(self._writer.commit)
        self._write(self._writer.wait_merging_threads)  # no file changes from here on
        files = {path.name: self._seal(path) for path in _files(self.folder)}
        return LexicalPart(self.folder.name, files, ANALYSIS_VERSION)

    def _seal(self, path: Path) -> Seal:
        known = None if path.name in _REWRITTEN else self._sealed.get(path.name)
        return known or seal(path)

    def _write(self, step: Any) -> None:
        try:
            step()
        except (OSError, ValueError) as error:
            raise _unwritable(self.folder, error) from error


def _schema() -> Any:
    builder = import_tantivy().SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    for name, tokenizer in (("title", "words"), ("text", "words"), ("grams", "grams")):
        builder.add_text_field(name, tokenizer_name=tokenizer, index_option=_FREQUENCIES)
    return builder.build()


def _register(index: Any) -> Any:
    words = word_analyser()
    index.register_tokenizer("words", words)
    index.register_tokenizer("grams", gram_analyser())
    return words


def _link_all(source: Path, target: Path) -> None:
    for path in _files(source):
        if path.name in _REWRITTEN:
            shutil.copyfile(path, target / path.name)
        else:
            _link(path, target / path.name)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix != ".lock")


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)


def _unwritable(folder: Path, error: Exception) -> StoreError:
    return StoreError(f"{folder} cannot be written: {error}; check the disk and the permissions")
