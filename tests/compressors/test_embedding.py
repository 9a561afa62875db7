from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from foveate.blocks.candidates import Candidates
from foveate.blocks.errors import ModelNotFoundError
from foveate.blocks.passage import Passage
from foveate.compressors import SCORERS
from foveate.compressors.embedding import Embedding, minilm_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pulled() -> None:
    try:
        minilm_folder()
    except ModelNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("pulled")
def test_the_same_meaning_in_other_words_scores_highest() -> None:
    text = "The bakery opens at six. The physician was late. Rain fell on the hills."
    candidates = Candidates("When did the doctor arrive?", [Passage(text)])
    units = SCORERS.make("embedding").score(candidates).units
    assert candidates.texts[int(units.argmax())].startswith("The physician")


@pytest.mark.usefixtures("pulled")
def test_a_title_says_what_its_units_are_about() -> None:
    text = "It is nine metres long."
    candidates = Candidates("length of a whale", [Passage(text, title="Whale"), Passage(text)])
    titled, bare = SCORERS.make("embedding").score(candidates).units
    assert titled > bare


@pytest.mark.usefixtures("pulled")
def test_a_text_seen_before_is_not_embedded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Embedding()
    candidates = Candidates("Who left?", [Passage("Ann left. Bob stayed."), Passage("Ann left.")])
    first = scorer.score(candidates)
    encoder, asked = scorer._ready(), []
    embed = encoder.embed
    monkeypatch.setattr(
        encoder, "embed", lambda texts, **how: asked.extend(texts) or embed(texts, **how)
    )
    again = scorer.score(candidates)
    assert asked == ["Who left?"]
    np.testing.assert_array_equal(first.units, again.units)


def test_a_missing_model_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOVEATE_HOME", str(tmp_path))
    with pytest.raises(ModelNotFoundError, match="foveate models pull minilm"):
        Embedding().score(Candidates("Who?", [Passage("Ann left.")]))
