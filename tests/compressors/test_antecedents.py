from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.blocks.candidates import Candidates, Scores
from foveate.blocks.passage import Passage
from foveate.compressors.antecedents import antecedents
from foveate.compressors.dangling import dangling
from foveate.compressors.selection import Costs, Plan, select
from foveate.rag.engine import Engine, Options
from foveate.rag.render import Style

PULP = (
    "Pulp Fiction is a 1994 American crime film written by Quentin Tarantino. "
    "It was released in October. "
    "The film won the Palme d'Or. "
    "Uma Thurman had first refused the part. "
    "She was persuaded over the telephone."
)
BRIDGE = (
    "Teld is a town on the river Aar. "
    "In 1412 rich monks paid for a stone bridge. "
    "Every carter owed them a toll. "
    "The bridge fell in the flood of 1651. "
    "This ruined the salt trade."
)
SENTENCES = (
    "Teld is a town on the river.",
    "It has a market.",
    "Anna Brand was its first mayor.",
    "She built a bridge.",
    "The bridge fell.",
    "This ruined the trade.",
    "However, the town grew again.",
    "Its walls are of red stone.",
    "They were paid by the monks.",
)


def leaning(text: str, title: str = "", *, titled: bool = True) -> dict[int, tuple[int, ...]]:
    return antecedents(Candidates("why?", [Passage(text, title=title)]), titled=titled)


def test_a_pronoun_for_what_the_title_names_needs_nothing() -> None:
    found = leaning(PULP, "Pulp Fiction")
    assert 1 not in found  # "It"
    assert 2 not in found  # "The film", for the title's thing is said to be one


def test_a_pronoun_for_somebody_else_needs_the_sentence_that_names_her() -> None:
    assert leaning(PULP, "Pulp Fiction")[4] == (3,)


@pytest.mark.parametrize(("title", "titled"), [("", True), ("Pulp Fiction", False)])
def test_without_a_title_the_first_sentence_says_it(title: str, titled: bool) -> None:
    found = leaning(PULP, title, titled=titled)
    assert (found[1], found[2], found[4]) == ((0,), (0,), (3,))


def test_a_definite_noun_needs_the_unit_that_introduced_it() -> None:
    found = leaning(BRIDGE, "Teld")
    assert found[3] == (1,)
    assert found[4] == (3,)  # "This"


def test_pronouns_that_go_on_lead_back_to_the_name_at_once() -> None:
    text = "Anna Brand was born in Teld. She studied law. She wrote two books. She died in 1950."
    assert leaning(text) == {1: (0,), 2: (0,), 3: (0,)}
    assert leaning(text, "Anna Brand") == {}


def test_this_idea_is_what_a_unit_introduced_or_the_sentence_before() -> None:
    text = "Teld is a town. Jon Varn proposed a toll on salt. He died. {} pleased nobody."
    assert leaning(text.format("This toll"), "Teld")[3] == (1,)
    assert leaning(text.format("This idea"), "Teld")[3] == (2,)
    assert 3 not in leaning(text.format("This town"), "Teld")


def test_a_title_that_the_text_does_not_speak_of_explains_no_pronoun() -> None:
    text = "Anna Brand was born in Teld. She studied law."
    assert leaning(text, "Annual report") == {1: (0,)}


@pytest.mark.parametrize(
    "opening",
    [
        "However, nobody paid.",
        "Therefore, nobody paid.",
        "In addition, nobody paid.",
        "These were high.",
        "That was in spring.",
        "Both were closed.",
        "Prior to this, nobody paid.",
        "and the brothers of Varn.",
    ],
)
def test_what_points_back_needs_the_sentence_before(opening: str) -> None:
    assert leaning(f"Teld is a town. The monks of Varn asked a toll. {opening}", "Teld")[2] == (1,)


@pytest.mark.parametrize(
    "opening",
    [
        "In June 1412, he left.",
        "In 1412 he left.",
        "From 1410 to 1412 he served abroad.",
        "As a young man he was a shepherd.",
        "Born in the far north, he was a shepherd.",
        "Later, he left.",
        "His house burned.",
        '"He left," said the abbot.',
    ],
)
def test_a_pronoun_is_seen_behind_what_says_when_or_where(opening: str) -> None:
    assert leaning(f"Teld is a town. Jon Varn was its abbot. {opening}", "Teld")[2] == (1,)


@pytest.mark.parametrize(
    "opening",
    [
        "It is likely that the abbot left.",
        "It was not until 1500 that peace came.",
        "Those who stayed were poor.",
        "The monks of Varn asked a toll.",
        "The 1412 flood was high.",
        "The Aar was frozen.",
        "When Jon Varn was old, he left.",
        "Such as lived there paid.",
        "There was a toll.",
        "iPhones were unknown.",
        "Éric Varn was poor.",
        "Italy was far.",
    ],
)
def test_what_speaks_for_itself_needs_nothing(opening: str) -> None:
    assert 2 not in leaning(f"Teld is a town. Jon Varn was its abbot. {opening}", "Teld")


@pytest.mark.parametrize(
    "text",
    [
        "Die Brücke von Teld war aus Stein. Sie wurde 1412 gebaut. Diese war sehr teuer.",
        "Le pont de Teld est une œuvre du roi. Il fut construit en 1412. Cela ruina la ville.",
        "El puente es una obra del rey. Sus arcos son de piedra. Sin embargo, cayó en 1651.",
        "特尔德桥是一座著名的石桥。它建于一四一二年，由修道士出资。这座桥在洪水中倒塌了，没有重建。",
        "جسر تيلد من أقدم الجسور في البلاد. هو مبني من الحجر القديم. هذا الجسر سقط في الفيضان.",
    ],
)
def test_other_languages_lean_by_their_own_words(text: str) -> None:
    assert leaning(text) == {1: (0,), 2: (1,)}


def test_languages_without_such_words_lean_on_nothing() -> None:
    assert leaning("สะพานนี้เก่ามาก มันถูกสร้างขึ้นในปี 1412 แล้ว\n\nมันพังแล้ว") == {}


@pytest.mark.parametrize(
    ("opening", "leans"),
    [
        ("他们的桥在一六五一年的洪水中倒塌了。", True),
        ("此外，他还建了城墙和教堂。", True),
        ("那些桥都是用石头建造的。", True),
        ("那不勒斯是一座古老的城市。", False),
        ("其中包括两座古老的石桥。", False),
    ],
)
def test_chinese_words_are_told_from_names_that_begin_alike(opening: str, leans: bool) -> None:
    assert bool(leaning(f"特尔德是一座古老的北方城市。{opening}")) == leans


def test_what_is_expected_is_no_pronoun_in_german_and_french() -> None:
    assert leaning("Das ist die Stadt Teld. Es gibt dort auch eine Brücke.") == {}
    assert leaning("Teld est une ville du nord. Il y a un pont dans la ville.") == {}


def test_list_items_need_what_leads_in_to_them() -> None:
    text = (
        "Teld is old. The toll was:\n\n- salt:\n  - one mark\n  - two marks\n- wine\n\nIt fell.\n"
    )
    found = leaning(text, "Teld")
    assert found == {2: (1,), 3: (2,), 4: (2,), 5: (1,)}
    assert leaning("Teld is old.\n\n- salt\n- wine\n") == {}


def test_code_needs_the_signature_that_it_stands_under() -> None:
    body = "\n\n".join(
        f"    def step_{n}(self):\n        self.total = self.total + {n}\n"
        + "        self.log()\n" * 20
        for n in range(3)
    )
    passage = Passage(f"class Pump:\n{body}\n\ndef other():\n    return 1\n")
    candidates = Candidates("why?", [passage])
    found = antecedents(candidates)
    texts = candidates.texts
    other = next(n for n, text in enumerate(texts) if text.startswith("def other"))
    inside = range(1, other)
    assert len(inside) > 2
    for unit in inside:
        over = unit
        while over in found:
            (over,) = found[over]
        assert texts[over].startswith("class Pump")
    assert other not in found


def test_a_line_as_long_as_the_text_stands_under_nothing() -> None:
    text = "[" + ",".join(f'{{"id":{n},"said":"It was def {n}"}}' for n in range(3000)) + "]"
    assert leaning(text) == {}
    assert leaning(f"def load():\n    return {text}\n")[5] == (0,)


passages = st.lists(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8), min_size=1, max_size=3
).map(lambda many: [Passage(" ".join(s), title="Teld" * (len(s) % 2)) for s in many])


@given(passages)
def test_units_lean_on_earlier_units_of_their_own_passage(given_passages: list[Passage]) -> None:
    candidates = Candidates("why?", given_passages)
    for unit, others in antecedents(candidates).items():
        assert others == tuple(sorted(set(others)))
        for other in others:
            assert other < unit
            assert candidates.owners[other] == candidates.owners[unit]


@given(passages, st.integers(5, 80), st.randoms(use_true_random=False))
def test_repair_is_within_the_limit_and_never_loses_the_best_unit(
    given_passages: list[Passage], limit: int, rng: object
) -> None:
    candidates = Candidates("why?", given_passages)
    count = len(candidates.units)
    values = np.array([(7 * n + 3) % 11 / 11 for n in range(count)]) + 0.01
    tokens = np.array([len(text.split()) for text in candidates.texts])
    costs = Costs(tokens, np.ones(len(given_passages), dtype=np.int64))
    scores = Scores(values, np.zeros(len(given_passages)), 0.0)
    plan = Plan(antecedents=antecedents(candidates))
    chosen = select(candidates, scores, costs, limit, plan=plan)
    opened = {int(candidates.owners[u]) for u in chosen.kept}
    assert tokens[list(chosen.kept)].sum() + len(opened) <= limit
    best = int(values.argmax())
    if tokens[best] + 1 <= limit:
        assert best in chosen.kept
    for unit, reason in chosen.reasons.items():
        if reason.startswith("explains unit"):
            assert candidates.owners[unit] == candidates.owners[int(reason.split()[-1])]


@given(passages)
def test_nothing_dangles_where_all_is_kept(given_passages: list[Passage]) -> None:
    candidates = Candidates("why?", given_passages)
    assert dangling(candidates, range(len(candidates.units))) == 0.0
    assert dangling(candidates, []) == 0.0


@given(passages)
def test_what_is_kept_with_all_that_it_leans_on_without_titles_does_not_dangle(
    given_passages: list[Passage],
) -> None:
    untitled = [Passage(passage.text) for passage in given_passages]
    candidates = Candidates("why?", untitled)
    leans = antecedents(candidates)
    for unit in range(len(candidates.units)):
        kept, stack = {unit}, [unit]
        while stack:
            for other in leans.get(stack.pop(), ()):
                if other not in kept:
                    kept.add(other)
                    stack.append(other)
        assert dangling(candidates, kept) == 0.0


def test_the_measure_counts_what_nobody_explains() -> None:
    candidates = Candidates("why?", [Passage(PULP, title="Pulp Fiction"), Passage(BRIDGE)])
    assert dangling(candidates, [1, 2]) == 0.0  # the title says both
    assert dangling(candidates, [1, 2], untitled=[0]) == 1.0
    assert dangling(candidates, [0, 4]) == 0.5  # "She" is not the film
    assert dangling(candidates, [3, 4]) == 0.0
    assert dangling(candidates, [5, 8]) == 0.5  # the bridge was never introduced
    assert dangling(candidates, [6, 8, 9]) == 0.0


def test_a_context_brings_what_explains_its_sentences_and_says_so() -> None:
    passages = [
        Passage(BRIDGE),
        Passage("Salt was dear in those years. The wine of Varn was cheap and sour."),
    ]
    options = Options(budget=20, tokenizer=lambda text: len(text.split()))
    context = Engine(None, scorer="lexical").compress("the flood of 1651?", passages, options)
    kept = {context.piece_text(piece).strip(): piece.reason for piece in context.kept}
    assert kept["The bridge fell in the flood of 1651."] == "relevant"
    assert kept["In 1412 rich monks paid for a stone bridge."] == "explains unit 3"
    assert context.tokens_after <= 20


def test_titles_that_are_not_shown_explain_nothing() -> None:
    passage = Passage(PULP + " Nobody else is in it.", title="Pulp Fiction")
    count = {"tokenizer": lambda text: len(text.split())}
    engine = Engine(None, scorer="lexical")
    for titles, brings in ((True, False), (False, True)):
        options = Options(budget=21, style=Style(titles=titles), **count)
        context = engine.compress("released in October?", [passage], options)
        assert ("explains unit 1" in {piece.reason for piece in context.kept}) == brings
