"""Models by name: pull one from the package index, find it, tell what there is.

`pull()` fetches the default proxy; `resolve()` says what to hand to `from_pretrained`. Models lie
in `home() / "models"`, a folder each. What a name means is pinned by digest in the catalogue.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.blocks.errors import ModelNotFoundError, UnknownNameError
from foveate.blocks.home import home
from foveate.blocks.progress import silent

from ._catalogue import CATALOGUE, CatalogueModel, ModelKind
from ._gguf import CONVERTERS, convert_gguf
from ._install import check_folder, disk_bytes, install, is_installed
from ._wheel import digest, extract, fetch_wheel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foveate.blocks.progress import Progress

__all__ = [
    "DEFAULT_EMBEDDER",
    "DEFAULT_PROXY",
    "ModelInfo",
    "convert_gguf",
    "home",
    "list_models",
    "path",
    "pull",
    "resolve",
]

DEFAULT_PROXY = "default"
DEFAULT_EMBEDDER = "default-embedder"

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_TYPO_CUTOFF = 0.75  # similarity by difflib, above which an unknown name is taken for a slip
_TELLING_LETTERS = 4  # a beginning of fewer letters could be anything
_DIGEST_LETTERS = 16


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One line of the catalogue, as it stands on this machine.

    Attributes:
        name: The name to pull and use it by.
        aliases: Other names for it.
        kind: What it serves as.
        source: What is fetched from the package index, `name==version`.
        licence: SPDX identifier.
        installed: Whether it lies in its folder, whole.
        path: That folder.
        size_bytes: Bytes on disk; 0 when it is not installed.
        download_bytes: Bytes that a pull fetches.
    """

    name: str
    aliases: tuple[str, ...]
    kind: ModelKind
    source: str
    licence: str
    installed: bool
    path: Path
    size_bytes: int
    download_bytes: int


def pull(
    name: str = DEFAULT_PROXY, *, progress: Progress | None = None, force: bool = False
) -> Path:
    """Fetch a model of the catalogue and install it; at once when it is there already.

    Several processes may pull at the same time: one works, the others wait for it.

    Args:
        name: Name or alias.
        progress: Told the stage ("download", "verify", "convert"), and bytes or steps.
        force: Fetch it anew. Until the new one is whole, the old one stays.

    Returns:
        The folder of the model.

    Raises:
        UnknownNameError: The catalogue has no such model.
        ModelDownloadError: pip is missing, has no network, or its index lacks the model.
        ModelIntegrityError: What came is not what was pinned; nothing was installed.
        ModelError: The disk refused.
    """
    model = _find(name)
    if model is None:
        raise UnknownNameError("model", name, _names())
    report = progress or silent

    def build(folder: Path, scratch: Path) -> None:
        _build(model, folder, scratch, report)

    makers = CONVERTERS if model.wheel.gguf else ()
    return install(_folder(model), build, source=_source(model), makers=makers, force=force)


def path(name: str) -> Path:
    """The folder of a model of the catalogue.

    Raises:
        UnknownNameError: The catalogue has no such model.
        ModelNotFoundError: It was not pulled yet, or its folder was damaged since.
    """
    model = _find(name)
    if model is None:
        raise UnknownNameError("model", name, _names())
    folder = _folder(model)
    if not is_installed(folder, _source(model)):
        what = "is damaged or out of date in" if folder.exists() else "is not in"
        raise ModelNotFoundError(
            f"model {name!r} {what} {folder.parent}; run: foveate models pull {name}"
        )
    return folder


def list_models() -> list[ModelInfo]:
    """Every model of the catalogue, installed or not."""
    return [_info(model) for model in CATALOGUE]


def resolve(spec: str | Path) -> Path | str:
    """What to hand to `from_pretrained` for a model that was named in any of the usual ways.

    Args:
        spec: A name or alias of the catalogue, a model folder, a GGUF file (converted at its first
            use, and kept), or a Hugging Face id. A name of the catalogue wins over a folder of that
            name; write `./name` for the folder.

    Returns:
        A folder, or the Hugging Face id as it was given.

    Raises:
        ModelNotFoundError: The model was not pulled, the path does not exist, or the folder lacks
            its config or its safetensors weights.
        UnknownNameError: A bare name that looks like a slip for one of the catalogue, or no name.
        UnsupportedModelError: The GGUF file cannot be read.
    """
    if isinstance(spec, str) and _find(spec):
        return path(spec)
    local = Path(spec).expanduser()
    if local.is_dir() and str(spec):
        check_folder(local)
        return local
    if local.is_file():
        return _from_file(local)
    if isinstance(spec, Path) or _looks_like_path(spec):
        raise ModelNotFoundError(f"there is no model folder or GGUF file {str(spec)!r}")
    if not _HUB_ID.fullmatch(spec) or _is_slip(spec):
        raise UnknownNameError("model", spec, _names())
    return spec


def _build(model: CatalogueModel, folder: Path, scratch: Path, progress: Progress) -> None:
    wheel = model.wheel
    archive = fetch_wheel(wheel, scratch, progress)
    extract(archive, wheel, scratch if wheel.gguf else folder)
    if wheel.gguf:
        progress("convert", 0, 1)
        convert_gguf(scratch / wheel.gguf, folder)
        progress("convert", 1, 1)


def _from_file(file: Path) -> Path:
    if file.suffix.lower() != ".gguf":
        raise ModelNotFoundError(
            f"{file} is a file, but no .gguf; give a model folder, a .gguf file, or a name: "
            f"{', '.join(_names())}"
        )
    sha256 = digest(file)

    def build(folder: Path, _scratch: Path) -> None:
        convert_gguf(file, folder)

    folder = home() / "models" / f"gguf-{sha256[:_DIGEST_LETTERS]}"
    return install(folder, build, source={"gguf_sha256": sha256}, makers=CONVERTERS)


def _info(model: CatalogueModel) -> ModelInfo:
    folder = _folder(model)
    installed = is_installed(folder, _source(model))
    return ModelInfo(
        name=model.name,
        aliases=model.aliases,
        kind=model.kind,
        source=model.wheel.requirement,
        licence=model.licence,
        installed=installed,
        path=folder,
        size_bytes=disk_bytes(folder) if installed else 0,
        download_bytes=model.wheel.size_bytes,
    )


def _folder(model: CatalogueModel) -> Path:
    return home() / "models" / model.name


def _source(model: CatalogueModel) -> Mapping[str, str]:
    return {"wheel": model.wheel.requirement, "wheel_sha256": model.wheel.sha256}


def _find(name: str) -> CatalogueModel | None:
    return next((model for model in CATALOGUE if name in (model.name, *model.aliases)), None)


def _names() -> list[str]:
    return [name for model in CATALOGUE for name in (model.name, *model.aliases)]


def _looks_like_path(spec: str) -> bool:
    return (
        spec.startswith((".", "~", "/", "\\"))
        or Path(spec).is_absolute()
        or spec.count("/") > 1
        or spec.endswith("/")
        or spec.lower().endswith((".gguf", ".safetensors"))
    )


def _is_slip(spec: str) -> bool:
    """Whether a bare name is close to one of the catalogue, or is the beginning of one."""
    name, names = spec.lower(), _names()
    close = difflib.get_close_matches(name, names, n=1, cutoff=_TYPO_CUTOFF)
    begins = len(name) >= _TELLING_LETTERS and any(known.startswith(name) for known in names)
    return "/" not in spec and (bool(close) or begins)
