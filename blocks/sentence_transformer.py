"""What a sentence-transformers model folder says about itself, as one recipe.

The layout is that of the sentence-transformers library: `modules.json` lists the steps, each with a
folder.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import ModelNotFoundError, UnsupportedModelError

if TYPE_CHECKING:
    from pathlib import Path

MODULES = "modules.json"

_POOLINGS: dict[str, Literal["mean", "cls"]] = {
    "mean": "mean",
    "cls": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
}
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
_DIGESTED = (
    "*.safetensors",
    "config.json",
    "config_sentence_transformers.json",
    "sentence_*_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model makes a vector of a text; it is scaled to length 1 in the end.

    Attributes:
        folder: Folder of the transformer.
        dim: Length of a vector.
        pooling: Mean of the last hidden states, or that of the first token.
        max_tokens: Where a text is cut; None leaves it to the tokenizer.
        lower: Whether texts are lowercased first.
        query_prompt: What goes before a query.
        document_prompt: What goes before a passage.
    """

    folder: Path
    dim: int
    pooling: Literal["mean", "cls"]
    max_tokens: int | None
    lower: bool
    query_prompt: str
    document_prompt: str


def read_recipe(folder: Path) -> Recipe:
    """Read a model folder.

    Raises:
        ModelNotFoundError: It is no sentence-transformers model, or a file of it is missing or
            damaged.
        UnsupportedModelError: It asks for a step, a pooling or a similarity that is not supported.
    """
    steps = {_kind(step): folder / str(step["path"]) for step in _read(folder / MODULES)}
    _refuse(folder, "the step", set(steps) - {"Transformer", "Pooling", "Normalize"})
    if not {"Transformer", "Pooling"} <= set(steps):
        raise UnsupportedModelError(str(folder), "it lacks a Transformer or a Pooling step")
    transformer = steps["Transformer"]
    pooling = _read(steps["Pooling"] / "config.json")
    config = _read(transformer / "config.json")
    if config.get("is_encoder_decoder"):
        raise UnsupportedModelError(str(folder), f"{config.get('model_type')!r} has a decoder")
    general = _read_if_there(folder / "config_sentence_transformers.json")
    similarity = general.get("similarity_fn_name") or "cosine"
    if similarity != "cosine" and "Normalize" not in steps:
        _refuse(folder, "the similarity", {similarity})
    query_prompt, document_prompt = _prompts(general)
    if (query_prompt or document_prompt) and not pooling.get("include_prompt", True):
        raise UnsupportedModelError(str(folder), "it leaves its prompts out of the pooling")
    lengths = [_read(path) for path in sorted(transformer.glob("sentence_*_config.json"))]
    length: dict[str, Any] = lengths[0] if lengths else {}
    return Recipe(
        folder=transformer,
        dim=int(pooling.get("word_embedding_dimension") or config["hidden_size"]),
        pooling=_pooling(folder, pooling),
        max_tokens=length.get("max_seq_length"),
        lower=bool(length.get("do_lower_case", False)),
        query_prompt=query_prompt,
        document_prompt=document_prompt,
    )


def files_digest(folder: Path) -> str:
    """SHA-256 over weights, tokenizer and settings, in hex; other files do not count."""
    state = hashlib.sha256()
    for step in sorted({folder, *(folder / str(step["path"]) for step in _read(folder / MODULES))}):
        for path in sorted({path for pattern in _DIGESTED for path in step.glob(pattern)}):
            with path.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").digest()
            state.update(path.relative_to(folder).as_posix().encode() + b"\0" + found)
    return state.hexdigest()


def _kind(step: dict[str, Any]) -> str:
    return str(step["type"]).rpartition(".")[2]


def _pooling(folder: Path, config: dict[str, Any]) -> Literal["mean", "cls"]:
    named = config.get("pooling_mode")
    modes = (
        {named} if named else {key for key, on in config.items() if on is True and "_mode_" in key}
    )
    _refuse(folder, "the pooling", {str(mode) for mode in modes} - set(_POOLINGS))
    if len(modes) != 1:
        raise UnsupportedModelError(str(folder), f"it asks for {len(modes)} poolings, not for one")
    return _POOLINGS[modes.pop()]


def _prompts(general: dict[str, Any]) -> tuple[str, str]:
    prompts = general.get("prompts") or {}
    default = prompts.get(general.get("default_prompt_name") or "", "")
    document = next((prompts[name] for name in _DOCUMENT_PROMPTS if prompts.get(name)), default)
    return prompts.get("query") or default, document


def _refuse(folder: Path, what: str, names: set[str]) -> None:
    if names:
        raise UnsupportedModelError(
            str(folder), f"{what} {', '.join(sorted(names))} is not supported"
        )


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"{path} cannot be read ({error}); give a name such as 'minilm', or the folder or "
            "Hugging Face id of a sentence-transformers model"
        ) from error


def _read_if_there(path: Path) -> dict[str, Any]:
    return dict(_read(path)) if path.exists() else {}
