from __future__ import annotations

import pytest

from foveate.compressors.question import asks_for, holds


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("How many passengers did the ferry carry?", "number"),
        ("What percentage of voters stayed home?", "number"),
        ("When did the mill burn down?", "time"),
        ("In which year was the treaty signed?", "time"),
        ("Who designed the lighthouse?", "name"),
        ("Where was she born?", "name"),
        ("Explain the ruling.", ""),
        ("Wann brannte die Mühle ab?", ""),
        ("الى متى", ""),
    ],
)
def test_question_words_tell_what_is_asked_for(query: str, kind: str) -> None:
    assert asks_for(query) == kind


@pytest.mark.parametrize(
    ("text", "kind", "there"),
    [
        ("It carried 340 passengers.", "number", True),
        ("It carried two cars.", "number", True),
        ("It carried passengers.", "number", False),
        ("The mill burned down in 1872.", "time", True),
        ("The mill burned down in March.", "time", True),
        ("The mill burned down after 30 years.", "time", False),
        ("The tower was designed by Anna Berg.", "name", True),
        ("The tower was designed by a stranger.", "name", False),
        ("Later it was praised.", "name", False),  # a capital that only opens the sentence
        ("It stands beside the Lighthouse.", "name", False),  # the query's own word
    ],
)
def test_a_text_holds_the_kind_of_thing_or_not(text: str, kind: str, there: bool) -> None:
    assert holds(text, kind, "Who designed the lighthouse?") is there
