"""What a source is about: its words, weighed by how often statements use them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from overstory.facts.vocabulary import spaced

_WORD = re.compile(r"[^\W\d_][\w'-]*[^\W_]|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,}|[\u0e00-\u0e7f]{2,}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]")
_STOP = spaced(
    "a about above after again against all also am an and any are aren't as at be because been before being"
    " below between both but by can can't"
    " cannot could couldn't did do does doesn't doing don't down during each either else etc even every few"
    " for from further get gets given had has have"
    " having he her here hers him his how however i if in into is isn't it its itself just let like many may"
    " me might more most much must my need no nor"
    " not now of off on once one only or other others ought our ours out over own per rather same see shall"
    " she should since so some such than that the"
    " their them then there these they thing things this those though through thus to too two under until up"
    " upon us use used uses using very via want was"
    " way we well were what when where whether which while who whom why will with within without would yes"
    " yet you your yours"
)
TOPIC_WORDS = 80
"""Words that make up the topic; rarer ones say little about the whole."""
_TITLE_BONUS = 2.0


def words(text: str) -> frozenset[str]:
    """The content words of a statement, folded; pairs of characters where a script has no spaces."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        if _UNSPACED.match(word):
            found.update(word[n : n + 2] for n in range(len(word) - 1))
        else:
            folded = word.casefold()
            if len(folded) > 2 and folded not in _STOP:
                found.add(_stem(folded))
    return frozenset(found)


def _stem(word: str) -> str:
    """Plural and singular as one, which is all that coverage needs."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" else word


def salience(statements: Sequence[frozenset[str]], titles: Iterable[str]) -> dict[str, float]:
    """Weight of each topic word; all weights together are 1 (empty for a source without words)."""
    counts = Counter(word for statement in statements for word in statement)
    named = frozenset(word for title in titles for word in words(title))
    weights = {word: math.log1p(count) * (_TITLE_BONUS if word in named else 1.0) for word, count in counts.items()}
    top = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:TOPIC_WORDS]
    total = sum(weight for _, weight in top)
    return {word: weight / total for word, weight in top}
