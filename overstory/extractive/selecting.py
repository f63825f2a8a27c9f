"""Which statements a summary is made of: those that add most facts and most of the topic a token."""

from __future__ import annotations

import heapq
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from overstory.extractive.blocks import BlockKind
from overstory.extractive.salience import salience, words
from overstory.extractive.units import Material, Unit
from overstory.facts import Fact, FactKind

FACT_WEIGHTS = {
    FactKind.DATE: 1.0,
    FactKind.QUARTER: 1.2,
    FactKind.MONEY: 1.2,
    FactKind.PERCENT: 1.0,
    FactKind.QUANTITY: 1.0,
    FactKind.VERSION: 1.0,
}
TOPIC_WEIGHT = 6.0
"""What the whole topic is worth, in facts."""
LEAD_WEIGHT = 2.5
"""What the first statement of a source is worth beside its words: it says what the source is about."""
PART_WEIGHT = 6.0
"""What it is worth that a part is represented, where parts are told apart; less by a statement of a few words."""
PART_TOKENS = 25
"""A statement of this many tokens represents its part."""
DECISION_WEIGHT = 0.5
ENOUGH_FACTS = 0.85
"""Share of a source's facts for which the target is passed: the floor of 0.70 with a margin (seeds: the chapter)."""
COST_EXPONENT = 0.9
"""Below 1, so that one long statement beats two of half its worth."""
LEAST_GAIN = 0.08
"""Below it a statement is left out, room or not: a list's announcement, a word of its own."""
OVERHEAD_TOKENS = 4
"""What a statement costs beside its own tokens: its share of headings and separators."""

_DECISION = re.compile(
    r"\b(?:chang(?:e|es|ed)|replac(?:es|ed)|reject(?:ed|s)|accept(?:ed|s)|approved|decided|deprecat(?:ed|es"
    r"|ion)|removed|introduc(?:ed|es)|adds?|added|effective"
    r"|no longer|must|shall|required|proposes?|supersed(?:ed|es)|withdrawn|prohibit(?:ed|s)|instead of)\b",
    re.IGNORECASE,
)
_HANGS = re.compile(
    r"(?:This|That|These|Those|It|He|She|They|Such|However|Therefore|Thus|Hence|Also|Then|Instead|Otherwise"
    r"|Moreover|Furthermore|And|But|So|For example|In this case)\b"
)
"""Openings that lean on the sentence before."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement with what choosing it would bring and cost."""

    unit: Unit
    facts: frozenset[tuple[FactKind, str]]
    words: frozenset[str]
    bonus: float
    readability: float
    tokens: int


def candidates(
    material: Material, source_facts: Sequence[Fact], count: Callable[[str], int], *, separate: bool
) -> list[Candidate]:
    """The statements of ``material`` with the facts that lie in them and in what they stand under."""
    starts = [fact.start for fact in source_facts]

    @cache
    def stated(start: int, end: int) -> frozenset[tuple[FactKind, str]]:
        inside = source_facts[bisect_left(starts, start) : bisect_left(starts, end)]
        return frozenset((fact.kind, fact.value) for fact in inside if fact.kind in FACT_WEIGHTS)

    found = []
    for unit in material.units:
        title = material.titles[unit.section.part]
        above = stated(title.start, title.end) | stated(unit.section.heading.start, unit.section.heading.end)
        said = f"{unit.lead.text}: {unit.text}" if unit.lead.text else unit.text
        own = stated(unit.start, unit.end) | stated(unit.lead.start, unit.lead.end)
        bonus = _bonus(unit, separate=separate)
        found.append(Candidate(unit, own | above, words(said), bonus, _readability(unit), count(said)))
    return found


def _bonus(unit: Unit, *, separate: bool) -> float:
    leads = unit.place == 0 and unit.kind is not BlockKind.FIELD and (separate or unit.section.part == 0)
    return LEAD_WEIGHT * leads + DECISION_WEIGHT * bool(_DECISION.search(unit.text))


def _readability(unit: Unit) -> float:
    """A factor, at most 1: what reads badly outside its place must bring more."""
    factor = 1.0
    if _HANGS.match(unit.text):
        factor *= 0.8
    if unit.text[:1].islower() and unit.kind is BlockKind.PARAGRAPH:
        factor *= 0.7
    if unit.opens_list:
        factor *= 0.3
    if unit.text.endswith("?"):
        factor *= 0.4
    short = unit.text.isascii() and unit.kind is not BlockKind.ROW
    if short and unit.text.count(" ") < (3 if unit.opens_list else 1):
        factor *= 0.1
    elif short and unit.text.count(" ") < 3 and unit.kind is not BlockKind.FIELD:
        factor *= 0.6
    return factor


@dataclass(slots=True)
class _Coverage:
    """What the chosen statements state."""

    weights: dict[str, float]
    wanted: float
    """Distinct facts that the target is passed for."""
    share_tokens: float
    """A part's fair share of the target; 0 where parts are not told apart."""
    facts: set[tuple[FactKind, str]] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    parts: Counter[int] = field(default_factory=Counter)
    """Tokens chosen of each part."""

    def gain(self, candidate: Candidate) -> float:
        """What choosing the candidate would bring; never more than it would have brought before."""
        stated = sum(FACT_WEIGHTS[fact[0]] for fact in candidate.facts - self.facts)
        topic = sum(self.weights.get(word, 0.0) for word in candidate.words - self.words)
        early = 1.0 + 1.0 / (1.0 + candidate.unit.place)
        worth = stated + TOPIC_WEIGHT * early * topic + candidate.bonus * (stated + topic > 0)
        if self.share_tokens:
            spent = self.parts[candidate.unit.section.part]
            worth /= 1.0 + spent / self.share_tokens
            worth += 0.0 if spent else PART_WEIGHT * min(1.0, candidate.tokens / PART_TOKENS)
        return worth * candidate.readability

    def lacks(self, candidate: Candidate) -> bool:
        """Whether the candidate is worth passing the target for."""
        more = len(self.facts) < self.wanted and bool(candidate.facts - self.facts)
        return more or bool(self.share_tokens and not self.parts[candidate.unit.section.part])

    def add(self, candidate: Candidate) -> None:
        self.facts |= candidate.facts
        self.words |= candidate.words
        self.parts[candidate.unit.section.part] += candidate.tokens


def select(
    found: Sequence[Candidate], titles: Sequence[str], target_tokens: int, max_tokens: int, *, separate: bool
) -> list[Candidate]:
    """Choose the best gain a token first; beyond the target only what adds facts (lazy greedy, Minoux 1978).

    Args:
        found: The statements of a source.
        titles: Its titles: their words weigh more.
        target_tokens: Length to aim at.
        max_tokens: Length not to pass.
        separate: Whether each part is to be represented.
    """
    stated = len(set().union(*(candidate.facts for candidate in found)))
    weights = salience([candidate.words for candidate in found], titles)
    share = target_tokens / max(1, len(titles)) if separate else 0.0
    coverage = _Coverage(weights, ENOUGH_FACTS * stated, share)
    heap = [(-_ratio(coverage.gain(c), c), n, 0) for n, c in enumerate(found)]
    heapq.heapify(heap)
    chosen: list[Candidate] = []
    spent = 0
    while heap:
        ratio, n, asked = heapq.heappop(heap)
        candidate = found[n]
        cost = candidate.tokens + OVERHEAD_TOKENS
        least = LEAST_GAIN if chosen else 0.0
        if -ratio * math.pow(cost, COST_EXPONENT) <= least or spent + cost > max_tokens:
            continue
        if asked < len(chosen):
            heapq.heappush(heap, (-_ratio(coverage.gain(candidate), candidate), n, len(chosen)))
            continue
        if chosen and spent + cost > target_tokens and not coverage.lacks(candidate):
            continue
        chosen.append(candidate)
        coverage.add(candidate)
        spent += cost
    return chosen


def _ratio(gain: float, candidate: Candidate) -> float:
    return gain / math.pow(candidate.tokens + OVERHEAD_TOKENS, COST_EXPONENT)
