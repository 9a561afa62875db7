from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from foveate.blocks.errors import InputError
from foveate.blocks.proxy import weights_fingerprint
from foveate.compressors import probes
from foveate.compressors.features import ATTENTION, FUSED, Features
from foveate.compressors.logistic import Logistic
from foveate.compressors.probes import Probe

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    probes.find.cache_clear()
    return tmp_path


def probe(fingerprint: str = "abc") -> Probe:
    scorers = {
        "fused": Logistic(dict.fromkeys(FUSED, 0.5), -1.0),
        "retrieval-heads": Logistic(dict.fromkeys(ATTENTION, 0.5), -1.0),
    }
    return Probe("mine", fingerprint, ((1, 2), (0, 3)), scorers, {"records": 3})


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    probe().save(tmp_path / "deep" / "p.json")
    assert probes.load(tmp_path / "deep" / "p.json") == probe()


def test_the_users_own_probe_is_found_by_the_weights_it_was_made_for(home: Path) -> None:
    assert probes.find("abc") is None
    probe().save(probes.folder() / "abc.json")
    found = probes.find("abc")
    assert found is not None
    assert found.heads == ((1, 2), (0, 3))


def test_the_users_own_probe_goes_before_the_shipped_one(home: Path) -> None:
    shipped = probes.shipped()
    assert probes.find(shipped.fingerprint) == shipped
    probe(shipped.fingerprint).save(probes.folder() / "own.json")
    assert probes.find(shipped.fingerprint) == probe(shipped.fingerprint)


def test_the_shipped_probes_ask_for_features_that_there_are() -> None:
    found = [probe for probe in probes._known() if probe.model]
    assert len(found) == 2
    for probe in found:
        for name in ("fused", "one-hop", "retrieval-heads"):
            assert all(hasattr(Features, feature) for feature in probe.scorers[name].features)


@pytest.mark.parametrize("damage", ["{", "[]", '{"format": 1}', '{"format": 99}'])
def test_a_damaged_probe_file_is_refused_with_the_remedy(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(damage)
    with pytest.raises(InputError, match="foveate calibrate MODEL"):
        probes.load(path)


def test_a_damaged_file_does_not_keep_other_models_from_their_probes(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    probes.folder().mkdir(parents=True)
    (probes.folder() / "bad.json").write_text("")
    assert probes.find(probes.shipped().fingerprint) == probes.shipped()
    assert "bad.json" in caplog.text


def test_an_uncalibrated_model_gets_its_middle_layers_and_is_told_so(
    tiny_model: Any, caplog: pytest.LogCaptureFixture
) -> None:
    heads = probes.heads_for(weights_fingerprint(tiny_model), tiny_model.config, "tiny")
    assert {layer for layer, _ in heads} == {1}
    assert "foveate calibrate tiny" in caplog.text


def test_a_calibrated_model_gets_its_own_heads(home: Path, tiny_model: Any) -> None:
    probe(weights_fingerprint(tiny_model)).save(probes.folder() / "tiny.json")
    assert probes.heads_for(weights_fingerprint(tiny_model), tiny_model.config, "tiny") == (
        (1, 2),
        (0, 3),
    )


@pytest.mark.model
def test_the_shipped_probe_belongs_to_the_default_proxy(default_proxy: Any) -> None:
    found = probes.find(default_proxy.fingerprint)
    assert found is not None
    assert found.heads == default_proxy.heads
    assert found.fingerprint.startswith(probes.shipped().fingerprint)


def test_files_are_json_and_nothing_else(tmp_path: Path) -> None:
    probe().save(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["format"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["p.json"]
