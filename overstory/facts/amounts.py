"""Amounts: money, percentages, numbers with units and thresholds, with their limits and ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from overstory.facts import normalizing, patterns
from overstory.facts.hits import Hit, Reading
from overstory.facts.measures import Measure, Number, measure
from overstory.facts.model import FactKind
from overstory.facts.versions import label_before, more_versions, named_version, numbers_a_line
from overstory.facts.vocabulary import FUNCTION_WORDS, TIME_UNITS, UNITS

_RANGE = re.compile(r"(?P<first>.*\d)%?\s*(?:-|to|and)\s*(?P<last>\d.*)", re.DOTALL)
_PARENTHESIS = re.compile(r"\s*\(.*\)")
_LIMITS = {"le": "<=", "ge": ">=", "gt": ">", "lt": "<", "about": "~"}
_LIMIT_CHARS = 48
_THRESHOLD_WORDS = frozenset({"limit", "threshold", "maximum", "minimum", "cap", "quota", "default"})


def limit_before(hit: Hit) -> tuple[int, str]:
    """Where the words that bound an amount begin, and the limit they set."""
    before = hit.before(_LIMIT_CHARS)
    found = patterns.LIMIT.search(before)
    if found is None:
        return hit.match.start(), ""
    return hit.match.start() - len(before) + found.start(), _LIMITS[found.lastgroup or ""]


def amounts(hit: Hit) -> Iterator[Reading]:
    """What a number or number words state, with what stands around them."""
    match = hit.match
    spelled = match.lastgroup == "words"
    if not spelled and numbers_a_line(hit.plain, *match.span()):
        return
    open_end = patterns.OR_MORE.match(hit.plain, match.end())
    found = measure(hit.plain, (open_end or match).end(), _number(hit))
    if found is not None and (not spelled or _spelled_counts(match.group(), found)):
        yield from _measured(hit, found, open_end)
        yield from _shared_unit(hit, found)
    elif not spelled:
        yield from _bare(hit)


def _number(hit: Hit) -> Number:
    surface = hit.match.group().lower()
    return Number(
        one=surface in ("1", "one") or surface.startswith("one ("),
        zero=surface == "0",
        whole="." not in surface,
        counts_anything=hit.match.lastgroup == "words" or not _is_label(hit),
    )


def _is_label(hit: Hit) -> bool:
    """Whether a number names a thing (step 3, Python 3) and counts nothing."""
    before = patterns.PREVIOUS_WORD.search(hit.before(24))
    if before is None:
        return False
    word = before[1]
    return label_before(hit.plain, hit.match.start()) or (word[0].isupper() and word.lower() not in FUNCTION_WORDS)


def _spelled_counts(surface: str, found: Measure) -> bool:
    """Whether number words state an amount: one of a kind, or two of just anything, is too common a phrase."""
    if found.kind is not FactKind.QUANTITY or found.factor > 1:
        return True
    units = TIME_UNITS if surface.lower() == "one" else UNITS
    return found.unit.partition("/")[0].rpartition(" ")[2] in units


def _measured(hit: Hit, found: Measure, open_end: re.Match[str] | None) -> Iterator[Reading]:
    end = found.end
    after = open_end or patterns.OR_MORE.match(hit.plain, end)
    if after and after is not open_end:
        end = after.end()
    start, limit = limit_before(hit)
    if after:
        limit = ">=" if after["more"] else "<="
    ends = _ends(hit, found.factor)
    if len(ends) == 2 and hit.before(5).rstrip().lower().endswith("from"):
        for amount in ends:
            yield Reading(found.kind, hit.match.start(), end, _value(amount, found))
    else:
        yield Reading(found.kind, start, end, limit + _value("..".join(ends), found))


def _ends(hit: Hit, factor: int) -> list[str]:
    """The number, or the two ends of a range."""
    surface = hit.match.group()
    if hit.match.lastgroup == "words":
        return [str(normalizing.spelled(_PARENTHESIS.sub("", surface)) * factor)]
    span = _RANGE.fullmatch(surface)
    numbers = [span["first"], span["last"]] if span else [surface]
    return [normalizing.scaled(number, factor) for number in numbers]


def _value(amount: str, found: Measure) -> str:
    if found.kind is FactKind.PERCENT:
        return f"{amount}{found.unit}"
    if found.kind is FactKind.MONEY:
        return f"{found.unit} {amount}"
    return f"{amount} {found.unit}".rstrip()


def _shared_unit(hit: Hit, found: Measure) -> Iterator[Reading]:
    second = patterns.INSTEAD.match(hit.plain, found.end)
    if second:
        value = _value(normalizing.number(second["number"]), found)
        yield Reading(found.kind, second.start("number"), second.end("number"), value)


def _bare(hit: Hit) -> Iterator[Reading]:
    """A number without a unit: a year, a version behind a name, a threshold, a grouped or native number."""
    end = hit.match.end()
    if _RANGE.fullmatch(hit.match.group()) or hit.plain[end : end + 1] in ("%", "_", "(", "[", "/", ">"):
        return
    reading = _bare_year(hit) or named_version(hit)
    if reading is None:
        yield from _threshold(hit)
        return
    yield reading
    if reading.kind is FactKind.VERSION:
        yield from more_versions(hit.plain, end)


def _bare_year(hit: Hit) -> Reading | None:
    start, end = hit.match.span()
    surface = hit.match.group()
    if not re.fullmatch(patterns.YEAR, surface) or hit.plain[end : end + 1] in ("s", "x"):
        return None
    if patterns.YEAR_BEFORE.search(hit.before(16)) is None:
        return None
    return Reading(FactKind.DATE, start, end, surface)


def _threshold(hit: Hit) -> Iterator[Reading]:
    start, end = hit.match.span()
    surface = hit.match.group()
    begin, limit = limit_before(hit)
    bounded = bool(limit) and hit.plain[begin].isalpha()
    grouped = "," in surface or " " in surface
    if bounded or grouped or not hit.text[start].isascii() or _told(hit):
        yield Reading(
            FactKind.QUANTITY, begin if bounded else start, end, limit * bounded + normalizing.number(surface)
        )


def _told(hit: Hit) -> bool:
    """Whether the words before announce a number: a limit of 10, a total of 4096."""
    before = patterns.TELLS_NUMBER.search(hit.before(16))
    if before is None:
        return False
    return len(hit.match.group()) >= 4 or not _THRESHOLD_WORDS.isdisjoint(re.findall("[a-z]+", before.group().lower()))
