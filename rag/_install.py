"""Put a model folder in place, whole or not at all.

A folder is built beside its place and moved there by one rename, under a lock that the operating
system frees when its holder dies. So a killed pull leaves nothing that could be taken for a model,
and of two pulls at once the second finds the work done. `foveate.json` in the folder says what it
was made from.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from foveate.blocks.errors import ModelError, ModelNotFoundError

from ._wheel import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MANIFEST = "foveate.json"
MANIFEST_FORMAT = 1  # raise it when models must be built anew


def install(
    folder: Path,
    build: Callable[[Path, Path], None],
    *,
    source: Mapping[str, str],
    makers: Sequence[str] = (),
    force: bool = False,
) -> Path:
    """Have `build` make the model, unless `folder` holds it already.

    Args:
        folder: Where the model shall be.
        build: Gets an empty folder to make the model in, and an empty scratch folder.
        source: What the model is made from; a folder made from something else is replaced.
        makers: Distributions whose versions bear on the result; noted in the manifest.
        force: Build even when the folder is good.

    Raises:
        ModelError: The disk refused.
    """
    if not force and is_installed(folder, source):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.lock"):
            _sweep(folder)
            if force or not is_installed(folder, source):
                _build(folder, build, _facts(folder.name, source, makers))
    except OSError as error:
        raise ModelError(
            f"cannot install {folder.name} in {folder.parent}: {error}; make room there, or set "
            "FOVEATE_HOME to a folder that can be written"
        ) from error
    return folder


def is_installed(folder: Path, source: Mapping[str, str]) -> bool:
    """Whether the folder was made from `source` and has all its files in full length."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        return (
            manifest["format"] == MANIFEST_FORMAT
            and manifest["source"] == dict(source)
            and all(
                (folder / name).stat().st_size == facts["bytes"]
                for name, facts in manifest["files"].items()
            )
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # none there, or damaged: either way not a model


def check_folder(folder: Path) -> None:
    """Raise `ModelNotFoundError` unless the folder holds a config and safetensors weights."""
    if not (folder / "config.json").is_file():
        files = ", ".join(file.name for file in folder.glob("*.gguf"))
        hint = f"; to use {files}, give the path of that file" if files else ""
        raise ModelNotFoundError(f"{folder} is no model folder: it lacks config.json{hint}")
    if missing := _missing_shards(folder):
        raise ModelNotFoundError(
            f"{folder} lacks {', '.join(missing)}; copy the whole model folder again"
        )
    if any(folder.glob("*.safetensors")):
        return
    if pickles := sorted(file.name for file in folder.glob("*.bin")):
        raise ModelNotFoundError(
            f"{folder} has its weights as {', '.join(pickles)} only: pickle files, which can run "
            "code when they are opened. Save them as safetensors where you trust them: "
            "AutoModelForCausalLM.from_pretrained(folder).save_pretrained(other_folder)"
        )
    raise ModelNotFoundError(f"{folder} lacks weights: there is no *.safetensors file in it")


def disk_bytes(folder: Path) -> int:
    """Bytes of all files in the folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _missing_shards(folder: Path) -> list[str]:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return []
    try:
        shards = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelNotFoundError(f"{index} is damaged: {error}") from error
    return sorted(shard for shard in shards if not (folder / shard).is_file())


def _sweep(folder: Path) -> None:
    """Remove what killed pulls left; the lock is held, so nobody is at work on it."""
    for leftover in folder.parent.glob(f".{folder.name}.partial-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _build(folder: Path, build: Callable[[Path, Path], None], facts: Mapping[str, Any]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.parent))
    try:
        made, scratch = work / "model", work / "scratch"
        made.mkdir()
        scratch.mkdir()
        build(made, scratch)
        _write_manifest(made, facts)
        if folder.exists():
            folder.replace(work / "old")
        made.replace(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _facts(name: str, source: Mapping[str, str], makers: Sequence[str]) -> dict[str, Any]:
    """No dates and no paths, so that the same source and versions give the same bytes."""
    return {
        "format": MANIFEST_FORMAT,
        "name": name,
        "source": dict(source),
        "made_with": {maker: version(maker) for maker in makers},
    }


def _write_manifest(folder: Path, facts: Mapping[str, Any]) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    listed = {
        file.relative_to(folder).as_posix(): {"bytes": file.stat().st_size, "sha256": digest(file)}
        for file in files
    }
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({**facts, "files": listed}, indent=2) + "\n", "utf-8")
    for file in files:  # safetensors hides its files from other users; a cache may be shared
        file.chmod(manifest.stat().st_mode)
