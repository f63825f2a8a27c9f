"""What stands behind a number: a unit, a currency, a percent sign, or any counted thing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from overstory.facts.model import FactKind
from overstory.facts.patterns import RATE, SUFFIX
from overstory.facts.vocabulary import (
    COUNTS,
    CURRENCY_CODES,
    CURRENCY_WORDS,
    FUNCTION_WORDS,
    NOT_NOUNS,
    PERCENT_WORDS,
    SCALES,
    TIGHT_UNITS,
    TIME_UNITS,
    UNIT_QUALIFIERS,
    UNITS,
)

_COUNTED = frozenset(COUNTS.values())
_CENT = re.compile(r"[ \t]+cent\b")
_CODE_AHEAD = (" =", "=", "(", "[", "_", "`")
"""Behind a word that is no noun but an identifier."""
_DOLLARS = re.compile(r"(?:\.S\.)?[ \t]+dollars?\b")


@dataclass(frozen=True, slots=True)
class Number:
    """What of a number decides which words may be its unit."""

    one: bool
    zero: bool
    whole: bool
    counts_anything: bool
    """Whether any plural noun behind it is counted by it; not so for labels (step 3)."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The unit of a number and where it ends."""

    kind: FactKind
    unit: str
    factor: int
    end: int


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    gap: str
    end: int


def measure(scanned: str, end: int, number: Number) -> Measure | None:
    """The measure behind the number that ends at ``end``; None where none does."""
    word = _word(scanned, end)
    if word is None or ("\n" in word.gap and scanned.startswith(_CODE_AHEAD, word.end)):
        return None
    scale = SCALES.get(word.text)
    if scale is None:
        return _measure(scanned, word, number, 1)
    following = _word(scanned, word.end)
    large = Number(one=False, zero=False, whole=True, counts_anything=number.counts_anything)
    found = _measure(scanned, following, large, scale) if following else None
    return found or Measure(FactKind.QUANTITY, "", scale, word.end)


def _word(scanned: str, position: int) -> _Word | None:
    found = SUFFIX.match(scanned, position)
    return _Word(found["word"], found["gap"], found.end()) if found else None


def _measure(scanned: str, word: _Word, number: Number, factor: int) -> Measure | None:
    found = _percent(scanned, word, factor) or _currency(scanned, word, factor) or _unit(scanned, word, number, factor)
    if found is None and number.counts_anything and number.whole:
        return _plural(scanned, word, factor)
    return found


def _percent(scanned: str, word: _Word, factor: int) -> Measure | None:
    if word.text in PERCENT_WORDS:
        return Measure(FactKind.PERCENT, "%", factor, word.end)
    if word.text == "per" and (cent := _CENT.match(scanned, word.end)):
        return Measure(FactKind.PERCENT, "%", factor, cent.end())
    if word.text == "percentage":
        points = _word(scanned, word.end)
        return (
            Measure(FactKind.PERCENT, "pp", factor, points.end) if points and points.text.startswith("point") else None
        )
    return None


def _currency(scanned: str, word: _Word, factor: int) -> Measure | None:
    if word.text in CURRENCY_CODES:
        return Measure(FactKind.MONEY, word.text, factor, word.end)
    if word.text in ("US", "U") and (dollars := _DOLLARS.match(scanned, word.end)):
        return Measure(FactKind.MONEY, "USD", factor, dollars.end())
    known = _longest(word.text, CURRENCY_WORDS)
    return Measure(FactKind.MONEY, CURRENCY_WORDS[known], factor, _end(word, known)) if known else None


def _longest(word: str, table: dict[str, str]) -> str:
    """The word as the table spells it; of a script without spaces, its longest known beginning."""
    if word.isascii():
        return next((form for form in (word, word.lower()) if form in table), "")
    return next((word[:n] for n in range(len(word), 0, -1) if word[:n] in table), "")


def _end(word: _Word, known: str) -> int:
    return word.end - len(word.text) + len(known)


def _unit(scanned: str, word: _Word, number: Number, factor: int) -> Measure | None:
    if word.text in UNIT_QUALIFIERS:
        following = _word(scanned, word.end)
        unit = UNITS.get(following.text.lower(), "") if following else ""
        return Measure(FactKind.QUANTITY, f"{word.text} {unit}", factor, following.end) if following and unit else None
    known = _known(word, number)
    if known is None:
        return None
    spelling, unit = known
    rate = RATE.match(scanned, word.end)
    if rate and rate["unit"].lower() in TIME_UNITS:
        return Measure(FactKind.QUANTITY, f"{unit}/{TIME_UNITS[rate['unit'].lower()]}", factor, rate.end())
    return Measure(FactKind.QUANTITY, unit, factor, _end(word, spelling))


def _known(word: _Word, number: Number) -> tuple[str, str] | None:
    """The unit as written and its canonical name."""
    if word.gap == "" and word.text in TIGHT_UNITS:
        return word.text, TIGHT_UNITS[word.text]
    if word.text[0].isupper() and "\n" in word.gap:
        return None
    spelling = word.text if len(word.text) < 3 and word.text.isascii() else _longest(word.text, UNITS)
    unit = UNITS.get(spelling)
    if unit is None or (unit == "x" and (word.gap or number.zero)) or (len(spelling) == 1 and word.gap == "-"):
        return None
    singular = word.text.isascii() and word.text.lower() == unit and not number.one
    return None if unit in _COUNTED and (singular or not number.whole) else (spelling, unit)


def _plural(scanned: str, word: _Word, factor: int) -> Measure | None:
    """Any counted thing, with one adjective at most: 7 widgets, 6 technical panels."""
    if not word.gap or word.gap == "-" or scanned.startswith(_CODE_AHEAD, word.end):
        return None
    if _is_plural(word.text):
        return Measure(FactKind.QUANTITY, _singular(word.text), factor, word.end)
    following = _word(scanned, word.end)
    adjective = word.text.islower() and word.text.isalpha() and len(word.text) > 2 and word.text not in FUNCTION_WORDS
    if adjective and following and following.gap == " " and _is_plural(following.text):
        return Measure(FactKind.QUANTITY, _singular(following.text), factor, following.end)
    return None


def _is_plural(word: str) -> bool:
    if word in COUNTS:
        return COUNTS[word] != word
    return len(word) > 3 and word.islower() and word[-1] == "s" and word[-2] not in "sui" and word not in NOT_NOUNS


def _singular(word: str) -> str:
    if word in UNITS:
        return UNITS[word]
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
