from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from foveate.blocks.errors import (
    EmbedderMismatchError,
    IndexCorruptError,
    IndexNotFoundError,
    InputError,
    ModelError,
    ModelNotFoundError,
    StoreError,
)
from foveate.blocks.passage import Passage
from foveate.rag.index import Change, Index

from .index_child import HashEmbedder

BIRDS = [
    Passage("The heron stands in shallow water.", "a", "Herons", {"page": 3, "tags": ["x"]}),
    Passage("Storks nest on chimneys.", "b", "Storks"),
    Passage("An owl hunts at night.", "c", "Owls"),
]
CHILD = Path(__file__).with_name("index_child.py")
MODES: list[Any] = ["lexical", "dense", "fused"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Index.create(tmp_path / "birds", embedder=HashEmbedder()) as index:
        index.add(BIRDS)
    return tmp_path / "birds"


@pytest.fixture
def reopen(folder: Path) -> Any:
    return lambda: Index.open(folder, embedder=HashEmbedder())


def ids(index: Index, query: str, mode: Any = "fused", k: int = 10) -> list[str]:
    return [hit.passage.id for hit in index.retriever(mode).retrieve(query, k)]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("mode", MODES)
def test_passages_come_back_as_they_were_added_after_reopening(reopen: Any, mode: Any) -> None:
    with reopen() as index:
        hits = index.retriever(mode).retrieve("heron water", 1)
        assert [(hit.passage, hit.rank) for hit in hits] == [(BIRDS[0], 1)]
        assert len(index) == 3
        assert index.get("b") == BIRDS[1]
        assert index.get("nobody") is None


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    with Index.create(tmp_path / "new", embedder=HashEmbedder()) as index:
        assert [ids(index, "heron", mode) for mode in MODES] == [[], [], []]
        assert len(index) == 0


def test_k_limits_the_hits_and_may_exceed_the_passages(reopen: Any) -> None:
    with reopen() as index:
        for mode in MODES:
            assert len(ids(index, "owl storks heron", mode, k=2)) == 2
            assert len(ids(index, "owl storks heron", mode, k=10**9)) == 3


def test_adding_a_known_id_replaces_its_passage_everywhere(reopen: Any) -> None:
    with reopen() as index:
        change = index.add([Passage("Now about pelicans.", "a"), BIRDS[1], Passage("Swift.", "d")])
        assert change == Change(added=1, replaced=1, unchanged=1)
        assert len(index) == 4
        assert index.get("a") == Passage("Now about pelicans.", "a")
        assert ids(index, "heron", "lexical") == []
        assert ids(index, "pelicans", "lexical") == ["a"]
        assert ids(index, "Now about pelicans.", "dense", k=1) == ["a"]


def test_unchanged_passages_are_not_embedded_again(folder: Path) -> None:
    embedder = HashEmbedder()
    with Index.open(folder, embedder=embedder) as index:
        before = index.stats().generation
        assert index.add(BIRDS) == Change(unchanged=3)
        assert embedder.texts == []
        assert index.stats().generation == before


def test_a_passage_without_id_is_named_by_its_content(tmp_path: Path) -> None:
    with Index.create(tmp_path / "new", embedder=None) as index:
        index.add([Passage("one"), Passage("two"), Passage("one")])
        index.add([Passage("two")])
        assert len(index) == 2


def test_deleted_passages_are_gone_from_every_mode(reopen: Any) -> None:
    with reopen() as index:
        assert index.delete(["a", "nobody"]) == 1
    with reopen() as index:
        assert len(index) == 2
        assert index.get("a") is None
        assert all("a" not in ids(index, "heron water", mode) for mode in MODES)


def test_everything_can_be_deleted_and_added_again(reopen: Any) -> None:
    with reopen() as index:
        assert index.delete(["a", "b", "c"]) == 3
        assert [ids(index, "heron", mode) for mode in MODES] == [[], [], []]
        index.add(BIRDS)
        assert ids(index, "heron", "lexical") == ["a"]


def test_whole_documents_drop_chunks_that_are_no_more(tmp_path: Path) -> None:
    def chunks(document: str, *texts: str) -> list[Passage]:
        return [
            Passage(text, f"{document}#{n}", metadata={"document": document})
            for n, text in enumerate(texts)
        ]

    with Index.create(tmp_path / "new", embedder=None) as index:
        index.add([*chunks("x", "one", "two", "three"), *chunks("y", "four")])
        change = index.add(chunks("x", "one", "deux"), whole_documents=True)
        assert change == Change(replaced=1, unchanged=1, removed=1)
        assert ids(index, "three", "lexical") == []
        assert ids(index, "four", "lexical") == ["y#0"]
        assert index.delete(documents=["x"]) == 2
        assert len(index) == 1


def test_text_of_any_script_and_odd_characters_survive(tmp_path: Path) -> None:
    odd = Passage("\x00 NUL, \u2028 line, \U0001f600 ไทย 漢字", "идея\n", "\x01", {"k": [1, None]})
    with Index.create(tmp_path / "new", embedder=None) as index:
        index.add([odd])
        assert index.get("идея\n") == odd


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (Passage("\ud800", "s"), "surrogate"),
        (Passage(" \n", "s"), "no text"),
        (Passage("x", "s", metadata={"when": object()}), "JSON"),
        (Passage("x", "s", metadata={"nan": float("nan")}), "JSON"),
        ("just a string", "foveate.Passage"),
        (Passage("x", 7), "no str"),  # type: ignore[arg-type]
        (Passage("not the heron", "a2"), "unique"),
    ],
)
def test_bad_input_leaves_the_files_as_they_were(
    reopen: Any, folder: Path, bad: Any, says: str
) -> None:
    before = contents(folder)
    with reopen() as index:
        with pytest.raises(InputError, match=says):
            index.add([Passage("fine", "f"), Passage("the heron", "a2"), bad])
        assert ids(index, "fine", "lexical") == []
    assert contents(folder) == before


def test_an_error_in_the_middle_of_a_stream_undoes_what_came_before(
    reopen: Any, folder: Path
) -> None:
    def stream() -> Any:
        yield from (Passage(f"text {n}", f"n{n}") for n in range(1500))
        raise RuntimeError("the source broke off")

    before = contents(folder)
    with reopen() as index, pytest.raises(RuntimeError):
        index.add(stream())
    assert contents(folder) == before


def test_progress_reaches_the_end_of_each_stage(reopen: Any) -> None:
    calls: list[tuple[str, int, int | None]] = []
    with reopen() as index:
        index.add(
            [Passage(f"t {n}", f"n{n}") for n in range(600)],
            progress=lambda stage, done, total: calls.append((stage, done, total)),
        )
    assert ("embed", 600, 600) in calls
    assert ("index", 600, 600) in calls
    assert calls[-1] == ("commit", 1, 1)
    assert calls == sorted(calls, key=lambda call: call[0] == "commit")


def test_an_embedder_that_gives_nonsense_is_refused(folder: Path) -> None:
    embedder = HashEmbedder()
    embedder.embed = lambda texts, **_: [[float("nan")] * 32] * len(texts)
    with Index.open(folder, embedder=embedder) as index:
        with pytest.raises(ModelError, match="finite"):
            index.add([Passage("new", "n")])
        assert len(index) == 3


def test_no_index_is_told_apart_from_a_damaged_one(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(IndexNotFoundError, match="nowhere"):
        Index.open(tmp_path / "nowhere")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(IndexNotFoundError):
        Index.open(tmp_path / "site")
    (folder / "passages.sqlite3").unlink()
    with pytest.raises(IndexCorruptError, match=r"passages\.sqlite3 is missing"):
        Index.open(folder)


def test_a_folder_with_other_things_in_it_is_never_overwritten(
    tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("more work")
    for taken in (tmp_path / "mine", tmp_path / "file", folder):
        with pytest.raises(InputError):
            Index.create(taken, embedder=None)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["birds", "file", "mine"]


def test_an_empty_folder_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    Index.create(tmp_path / "empty", embedder=None).close()
    Index.create(tmp_path / "deep" / "er", embedder=None).close()
    assert len(Index.open(tmp_path / "empty")) == 0


@pytest.mark.parametrize("other", [{"digest": "f" * 32}, {"dim": 16}])
def test_another_embedder_is_refused(folder: Path, other: Any) -> None:
    with pytest.raises(EmbedderMismatchError, match="hashed words"):
        Index.open(folder, embedder=HashEmbedder(**other))


def test_an_embedder_for_an_index_without_vectors_is_refused(tmp_path: Path) -> None:
    Index.create(tmp_path / "new", embedder=None).close()
    with pytest.raises(EmbedderMismatchError):
        Index.open(tmp_path / "new", embedder=HashEmbedder())


def test_the_embedder_is_needed_for_vectors_only(folder: Path) -> None:
    with Index.open(folder) as index:
        assert ids(index, "heron", "lexical") == ["a"]
        assert index.delete(["b"]) == 1
        with pytest.raises(ModelError):
            index.retriever("dense").retrieve("heron")


def test_modes_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with Index.create(tmp_path / "new", embedder=None) as index:
        index.add(BIRDS)
        assert [hit.passage.id for hit in index.retriever().retrieve("owl")] == ["c"]
        for mode in ("dense", "fused"):
            with pytest.raises(InputError, match="no vectors"):
                index.retriever(mode)
        with pytest.raises(InputError, match="choose"):
            index.retriever("telepathic")  # type: ignore[arg-type]


def test_a_model_that_is_not_there_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        Index.create(tmp_path / "new", embedder=tmp_path / "no-such-model")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_index_says_so(reopen: Any) -> None:
    index = reopen()
    index.close()
    index.close()
    for use in (lambda: len(index), lambda: index.add(BIRDS), lambda: index.get("a")):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_stats_describe_the_index(reopen: Any, folder: Path) -> None:
    with reopen() as index:
        stats = index.stats()
    assert (stats.passages, stats.generation, stats.clustered) == (3, 1, 0)
    assert stats.embedder.dim == 32
    assert stats.disk_bytes > sum(len(passage.text) for passage in BIRDS)


def test_an_index_on_a_read_only_disk_can_be_asked(
    reopen: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with reopen() as index:
        assert [ids(index, "heron water", mode, k=1) for mode in MODES] == [["a"]] * 3
        assert not list(folder.glob("*-wal"))
        with pytest.raises(StoreError, match="permissions"):
            index.add([Passage("new", "n")])


# --- Several at once


def test_an_open_reader_sees_each_commit_of_another_writer(reopen: Any) -> None:
    with reopen() as reader, reopen() as writer:
        retrievers = [reader.retriever(mode) for mode in MODES]
        for retriever in retrievers:
            assert retriever.retrieve("owl night", 1)[0].passage.id == "c"
        writer.delete(["c"])
        writer.add([Passage("owl night", "d")])
        for retriever in retrievers:
            assert [hit.passage.id for hit in retriever.retrieve("owl night", 1)] == ["d"]


def test_a_second_writer_is_refused_while_readers_see_the_last_commit(
    reopen: Any, folder: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, CHILD, "hold", folder, "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with reopen() as index, child:
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        assert index.get("k") is None
        assert ids(index, "kingfisher", "lexical") == []
        with pytest.raises(StoreError, match="one writer at a time"):
            index.add([Passage("late", "l")])
        child.communicate("go on\n")
        assert child.returncode == 0
        assert ids(index, "kingfisher", "lexical") == ["k"]
        assert index.add([Passage("late", "l")]).added == 1


def test_threads_share_an_index(reopen: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with reopen() as index, ThreadPoolExecutor(4) as pool:
        asked = ["heron water", "storks chimneys", "owl night"] * 20
        retriever = index.retriever("fused")
        found = list(pool.map(lambda query: retriever.retrieve(query, 1)[0].passage.id, asked))
    assert found == ["a", "b", "c"] * 20


# --- Killed


def run_child(action: str, folder: Path, die_at: int) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, CHILD, action, folder, str(die_at)], capture_output=True, text=True
    )


def picture(index: Index) -> Any:
    """All that can be seen of an index."""
    found = {mode: sorted(ids(index, "heron stork owl grey black", mode)) for mode in MODES}
    return len(index), [index.get(name) for name in "abcz"], found


@pytest.mark.parametrize("action", ["add", "delete"])
def test_killed_at_any_step_the_index_is_as_before_or_as_after(folder: Path, action: str) -> None:
    def look(at: Path) -> Any:
        with Index.open(at, embedder=HashEmbedder()) as index:
            return picture(index)

    before = look(folder)
    whole = shutil.copytree(folder, folder.with_name("whole"))
    done = run_child(action, whole, 0)
    assert done.returncode == 0, done.stderr
    after = look(whole)
    assert before != after
    steps = int(done.stdout)
    assert steps > 20
    seen = []
    for die_at in range(1, steps + 1, max(1, steps // 8)):
        victim = shutil.copytree(folder, folder.with_name(f"victim{die_at}"))
        assert run_child(action, victim, die_at).returncode == -signal.SIGKILL
        state = look(victim)
        assert state in (before, after)
        seen.append(state == after)
        with Index.open(victim, embedder=HashEmbedder()) as index:
            index.add([Passage("next", "n")])
            assert ids(index, "next", "lexical") == ["n"]
            index.delete(["n"])
            assert picture(index) == state
        assert len(list(victim.glob("lexical-*"))) == 1
    assert seen == sorted(seen)
    assert not seen[0]


# --- Damaged


def overwrite(path: Path, data: bytes) -> None:
    """Put a file in another's place: truncating one that is still mapped kills the process."""
    draft = path.with_name(path.name + ".new")
    draft.write_bytes(data)
    draft.replace(path)


def look_or_fail(folder: Path, embedder: Any) -> Any:
    """What can be seen of an index, or None where it says that it is damaged."""
    try:
        with Index.open(folder, embedder=embedder) as index:
            return picture(index)
    except IndexCorruptError as error:
        damage = str(error)
    assert any(word in damage for word in ("repair", "Restore"))
    assert folder.name in damage
    return None


def test_flipped_bits_are_found_or_harmless(folder: Path) -> None:
    with Index.open(folder, embedder=HashEmbedder()) as index:
        truth = picture(index)
    chance = random.Random(7)
    found = 0
    for name, intact in contents(folder).items():
        if name.endswith(".lock"):
            continue
        for _ in range(8):
            damaged = bytearray(intact)
            damaged[chance.randrange(len(intact))] ^= 1 << chance.randrange(8)
            overwrite(folder / name, damaged)
            seen = look_or_fail(folder, HashEmbedder())
            assert seen in (truth, None), name
            found += seen is None
        overwrite(folder / name, intact)
    assert found > 40


def test_truncated_files_are_found(folder: Path) -> None:
    for name, intact in contents(folder).items():
        if name.endswith(".lock"):
            continue
        for share in (0, 0.3, 0.9):
            overwrite(folder / name, intact[: int(len(intact) * share)])
            assert look_or_fail(folder, HashEmbedder()) is None, name
        (folder / name).unlink()
        assert look_or_fail(folder, HashEmbedder()) is None, name
        overwrite(folder / name, intact)


def test_damage_to_derived_files_is_named_and_repaired(folder: Path) -> None:
    with Index.open(folder, embedder=HashEmbedder()) as index:
        truth = picture(index)
    (term,) = folder.glob("lexical-*/*.term")
    overwrite(term, b"?" * term.stat().st_size)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(IndexCorruptError, match=r"manifest\.json"):
        Index.open(folder)
    assert Index.repair(folder) == ("manifest.json", "lexical-1")
    with Index.open(folder, embedder=HashEmbedder()) as index:
        assert picture(index) == truth
    assert Index.repair(folder) == ()


def test_a_damaged_lexical_part_stops_the_writer_too(folder: Path) -> None:
    (term,) = folder.glob("lexical-*/*.term")
    term.unlink()
    with Index.open(folder, embedder=HashEmbedder()) as index:
        with pytest.raises(IndexCorruptError, match=r"\.term is missing"):
            index.add([Passage("new", "n")])
        with pytest.raises(IndexCorruptError, match=r"\.term is missing"):
            index.retriever("lexical").retrieve("owl")
        assert ids(index, "owl", "dense", k=1) == ["c"]


def test_damaged_passages_cannot_be_repaired_and_stay_as_they_are(folder: Path) -> None:
    (folder / "passages.sqlite3").write_bytes(b"not a database" * 1000)
    before = contents(folder)
    with pytest.raises(IndexCorruptError, match="Restore"):
        Index.repair(folder)
    assert contents(folder) == before


def test_an_index_of_a_later_format_is_refused(folder: Path) -> None:
    from foveate.rag.retrievers._manifest import Manifest, read_manifest

    later = Manifest(read_manifest(folder).embedder, format=99)
    (folder / "manifest.json").write_text(later.to_json())
    with pytest.raises(StoreError, match="upgrade"):
        Index.open(folder)


def test_the_manifest_says_what_it_is(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["kind"] == "foveate-index"
    assert manifest["embedder"] == {"name": "hashed words", "dim": 32, "digest": "0" * 32}
