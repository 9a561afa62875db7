"""The words by which a sentence leans on an earlier one, by language.

Closed classes alone: third-person pronouns with what they own, demonstratives, connectives. A word
that is as often one of another sort is left out. Languages that are not here have no such words as
far as the selection knows, so none of their sentences leans.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Of one language; patterns are matched where a clause begins, case aside.

    Attributes:
        personal: Each third-person pronoun or possessive, with the one that agrees with it.
        pointing: Demonstratives, and what says that there is one more of the same.
        linking: Connectives, with the comma where they need one to be such.
        article: The definite article; None where what follows one is not looked at.
        idle: Clauses that begin with such a word and speak of nothing before.
    """

    personal: dict[str, str]
    pointing: re.Pattern[str]
    linking: re.Pattern[str]
    article: re.Pattern[str] | None = None
    idle: re.Pattern[str] | None = None


def _of(
    personal: str,
    pointing: str,
    linking: str,
    *,
    article: str = "",
    idle: str = "",
    spaced: bool = True,
) -> Words:
    """Tables written tersely: "it its|he his him" are two pronouns with what agrees with them."""
    forms = {form: group.split()[0] for group in personal.split("|") for form in group.split()}
    edge = r"(?!\w)" if spaced else ""

    def any_of(words: str) -> re.Pattern[str]:
        return re.compile(rf"(?:{words}){edge}", re.IGNORECASE)

    return Words(
        forms,
        any_of(pointing),
        re.compile(rf"(?:{linking})", re.IGNORECASE),
        any_of(article) if article else None,
        any_of(idle) if idle else None,
    )


_EXPECTED = (
    r"(?:(?:\w+ly|quite|very|not|also|more) )*(?:possible|impossible|likely|unlikely|clear"
    r"|unclear|said|believed"
    r"|thought|estimated|assumed|reported|rumou?red|important|necessary|difficult|easy|common"
    r"|true|(?:not )?until|only (?:in|after|when)|known that|found that|shown that)"
)

WORDS = {
    "en": _of(
        "it its|he his him|she her hers|they their them theirs",
        "this|these|that|those|such|neither|another|others?|both(?! (?-i:[A-Z]))"
        "|the (?:former|latter|others?|same|two|three)"
        "|(?:many|some|most|all|several|few|none|both|each|one|two|three|part|much) of (?:these"
        "|those|them)",
        r"(?:however|therefore|thus|hence|consequently|accordingly|nevertheless|nonetheless"
        r"|moreover|furthermore|additionally|likewise|similarly|conversely|otherwise|instead"
        r"|besides|also|still|yet|so)\s*,|(?:in addition|as a result|for example|for instance"
        r"|in (?:contrast|turn|other words)|by contrast|on the (?:other hand|contrary))\s*,"
        r"|(?:however|therefore|but|yet|nor|and|or)\s",
        article="the",
        idle=rf"it (?:is|was|has been|seems|appears|turn(?:s|ed) out|takes|took)(?: {_EXPECTED})"
        r"|it (?:seems|appears|turns out|turned out)"
        r"|that is|(?:this|these) (?:morning|evening|days)"
        r"|(?:that|those) (?:who|which|that|with|whose|of)|such as",
    ),
    "de": _of(
        "er|es|sie",
        r"dies(?:e[rsmn]?)?|jene[rsmn]?|letztere[rsmn]?|derselbe|dieselbe|dasselbe|beide|deren"
        r"|dessen|dabei|dadurch|dafür|damit|danach|daran|darauf|daraus|darin|davon|dazu",
        r"(?:jedoch|allerdings|deshalb|daher|deswegen|außerdem|dennoch|trotzdem|zudem|folglich"
        r"|somit|demnach|hingegen|dagegen|ebenso|aber|doch|zum beispiel)\s",
        idle=r"es (?:gibt|gab|ist|war|wird|wurde|sei|kam|kommt|handelt|scheint|heißt)",
    ),
    "fr": _of(
        "il|elle|ils|elles",
        r"c(?:e|ette|es|et)|c['’]est|c['’]était|celui-ci|celle-ci|ceux-ci|celles-ci|celui-là"
        r"|celle-là|cela|ceci|ce dernier|cette dernière",
        r"(?:cependant|toutefois|néanmoins|pourtant|donc|ainsi|de plus|en outre|par conséquent"
        r"|en revanche|par exemple|par ailleurs)\s*,|(?:mais|or)\s",
        idle=r"il (?:y a|y avait|y eut|faut|fallait|existe|existait|s['’]agit|est (?:possible"
        r"|probable|nécessaire|important|difficile|clair))",
    ),
    "es": _of(
        "él|ella|ellos|ellas|su sus",
        r"est[aeo]s?|esas?|es[eo]s?(?= )|aquel(?:l[ao]s?)?|dich[ao]s?|ambos|ambas|tal(?:es)?",
        r"(?:sin embargo|no obstante|por lo tanto|por tanto|además|asimismo|por ejemplo"
        r"|en cambio|en consecuencia|así)\s*,|(?:pero|aunque)\s",
        idle=r"es ",
    ),
    "zh": _of(
        "它|他|她|它们 它們|他们 他們|她们 她們|其",
        "这|這|该(?!隐)|該(?!隱)|此|那(?=[个個些次时時年里裡天种種])",
        "然而|但是|但|因此|所以|此外|不过|不過|例如|另外|而且",
        idle="其中|其他|其它|其余|其實|其实|此外",
        spaced=False,
    ),
    "ar": _of(
        "هو|هي|هم",
        "هذا|هذه|هؤلاء|ذلك|تلك|أولئك",
        r"(?:لكن|ولكن|لذلك|ومع ذلك|بالإضافة إلى ذلك|على سبيل المثال)\s",
    ),
}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOPS = _set(
    "is was are were be been has have had will would can could may might must shall should did does"
    " do not also then and or but as than when while if so only still just a an the his her its"
    " their"
)
"""English words that no noun phrase behind an article holds."""

DEFINING = _set("of that which who whose whom where")
"""Behind a noun they say which one is meant, within the sentence."""

PLACING = _set("in at on for from with between to by about among behind under over")
"""So do these right behind it; behind a verb they do not."""

PAST = _set(
    "became began broke brought built came drew fell flew fought found gave got grew held kept knew"
    " lay led left lost made met paid ran rose said sat saw sent sold spent spoke stood taught told"
    " took went won wrote"
)
"""Verbs that do not look like one."""

COMMON = _set(
    "first second third fourth fifth last next final new old main major current original early late"
    " later former latter same other two three only best largest most more full entire whole own"
    " following"
)
"""What a noun is called that any other is called as well."""
