from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import InputError
from foveate.blocks.passage import Passage
from foveate.compressors.calibrate import (
    MAX_HEADS,
    auc,
    calibrate,
    choose_heads,
    shipped_set,
)
from foveate.compressors.examples import Example, gold_units, join, load_examples
from foveate.compressors.features import FUSED, TWO_HOPS

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.proxy import Proxy

EXAMPLES = [
    Example(
        f"What did ship {n} carry?",
        (
            Passage(f"Ship {n} left in May. It carried salt and rope.", title=f"Ship {n}"),
            Passage("Nobody saw the storm. Masts broke.", title="Storm"),
        ),
        ((0, 22, 47),),
    )
    for n in range(4)
]


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    positive = np.array([True, False, False, True])
    assert auc(np.array([4.0, 1.0, 2.0, 3.0]), positive) == 1.0
    assert auc(np.array([1.0, 3.0, 4.0, 2.0]), positive) == 0.0
    assert auc(np.array([1.0, 1.0, 1.0, 1.0]), positive) == 0.5


def test_the_gold_unit_is_the_one_that_the_span_covers() -> None:
    candidates = Candidates(EXAMPLES[0].question, EXAMPLES[0].passages)
    assert gold_units(candidates, EXAMPLES[0].gold).tolist() == [False, True, False, False]


def test_an_example_without_its_evidence_has_nothing_relevant() -> None:
    rest = EXAMPLES[0].without_evidence()
    assert rest is not None
    assert [p.title for p in rest.passages] == ["Storm"]
    assert rest.gold == ()
    assert rest.without_evidence() is not None


def test_it_chooses_heads_that_exist_and_weighs_every_feature(tiny_proxy: Proxy) -> None:
    stages: list[str] = []
    probe = calibrate(
        tiny_proxy, EXAMPLES, source="ships", progress=lambda stage, *_: stages.append(stage)
    )
    assert 1 <= len(probe.heads) <= MAX_HEADS
    assert set(probe.heads) <= set(tiny_proxy.heads)
    assert probe.fingerprint == tiny_proxy.fingerprint
    assert tuple(probe.scorers["one-hop"].features) == FUSED
    assert tuple(probe.scorers["fused"].features) == TWO_HOPS
    assert dict.fromkeys(stages) == {"rank heads": None, "read": None}
    assert calibrate(tiny_proxy, EXAMPLES, source="ships") == probe


def test_heads_nearly_as_good_as_the_best_are_chosen_and_no_others() -> None:
    class Reading:
        # The first and the last find the evidence; the second looks elsewhere.
        mass = np.array([[0.9, 0.1, 0.2], [0.1, 0.9, 0.8], [0.8, 0.1, 0.3]])

    pairs = [(Reading(), np.array([True, False, False]))]
    assert choose_heads(pairs, [(3, 0), (0, 1), (1, 2)]) == ((3, 0), (1, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sentences", [["One. ", "Two."], ["One.", " Two."], ["One.", "Two."], ["One.", "\nTwo."]]
)
def test_gold_spans_are_the_sentences_however_they_are_glued(sentences: list[str]) -> None:
    text, spans = join(sentences)
    assert [text[a:b] for a, b in spans] == ["One.", "Two."]


def test_empty_sentences_have_empty_spans() -> None:
    text, spans = join(["", " One.", " "])
    assert [text[a:b] for a, b in spans] == ["", "One.", ""]


def test_text_that_needs_no_spaces_gets_none() -> None:
    assert join(["港口结冰了。", "船只等待。"])[0] == "港口结冰了。船只等待。"


def test_a_gzipped_set_reads_like_a_plain_one(tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "set.jsonl.gz"
    packed.write_bytes(gzip.compress(shipped_set().read_bytes()))
    assert load_examples(packed) == load_examples(shipped_set())


def test_the_shipped_set_reads_and_every_record_has_evidence() -> None:
    examples = load_examples(shipped_set())
    assert len(examples) >= 40
    for example in examples:
        for passage, start, end in example.gold:
            assert example.passages[passage].text[start:end].strip()


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        json.dumps({"question": "q", "passages": []}),
        json.dumps(
            {"question": "q", "passages": [{"title": "t", "sentences": ["a"]}], "evidence": []}
        ),
        json.dumps(
            {
                "question": "q",
                "passages": [{"title": "t", "sentences": ["a"]}],
                "evidence": [[0, 5]],
            }
        ),
    ],
)
def test_a_line_that_is_no_record_is_refused_by_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match="line 1 is no calibration record"):
        load_examples(path)
