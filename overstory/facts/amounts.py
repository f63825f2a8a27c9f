"""Amounts: money, percentages, numbers with units and thresholds, with their limits and ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from overstory.facts import normalizing, patterns
from overstory.facts.model import FactKind
from overstory.facts.versions import label_before, more_versions, named_version
from overstory.facts.vocabulary import (
    CURRENCY_CODES,
    CURRENCY_SYMBOLS,
    CURRENCY_WORDS,
    DOLLAR_PREFIXES,
    FUNCTION_WORDS,
    MONEY_SCALES,
    NOT_NOUNS,
    PERCENT_WORDS,
    SCALES,
    TIGHT_UNITS,
    TIME_UNITS,
    UNIT_QUALIFIERS,
    UNITS,
)

Hit = tuple[FactKind, int, int, str]

_AMOUNT = re.compile(rf"(?P<number>{patterns.NUMBER})(?:[ \t\n-]*(?P<scale>thousand|million|billion|trillion|mn|bn|[kKmMBbT])\b)?", re.ASCII)
_RANGE_SEPARATOR = re.compile(r"(?P<first>.*\d)\s*(?:-|to)\s*(?P<last>\d.*)", re.DOTALL)
_PARENTHESIS = re.compile(r"\s*\(.*\)")
_WHOLE = re.compile(r"[\d, ]+")


@dataclass(frozen=True, slots=True)
class _Measure:
    """What stands behind a number."""

    kind: FactKind
    unit: str
    factor: int
    end: int


def money(scanned: str, match: re.Match[str], text: str) -> Iterator[Hit]:
    """``$49``, ``US $100``, ``EUR 3.4 million``, ``$5-10``, ``$4 billion 100 million``."""
    surface = match.group()
    found = list(_AMOUNT.finditer(surface))
    if not found:
        return
    values = [_scaled(one["number"], one["scale"]) for one in found]
    between = surface[found[0].end() : found[1].start()] if len(found) > 1 else ""
    if len(found) > 1 and between.strip(" \n\t") == "":
        amount = str(sum(int(v) for v in values if "." not in v))
    elif len(found) > 1:
        scale = found[1]["scale"]
        first = values[0] if found[0]["scale"] else _scaled(found[0]["number"], scale)
        amount = f"{first}..{values[1]}"
    else:
        amount = values[0]
    start, limit = _limit(scanned, match.start())
    yield FactKind.MONEY, start, match.end(), f"{limit}{_currency(surface)} {amount}"


def _scaled(number: str, scale: str | None) -> str:
    if not scale:
        return normalizing.number(number)
    return normalizing.scaled(number, SCALES.get(scale) or MONEY_SCALES[scale])


def _currency(surface: str) -> str:
    code = re.search(r"[A-Z]{3}", surface)
    if code and code.group() in CURRENCY_CODES:
        return code.group()
    symbol = next(c for c in surface if c in CURRENCY_SYMBOLS)
    prefix = surface[: surface.index(symbol)].strip()
    return DOLLAR_PREFIXES.get(prefix, CURRENCY_SYMBOLS[symbol])


def _limit(scanned: str, start: int) -> tuple[int, str]:
    """Where the words that bound an amount begin, and the limit they set."""
    base = max(0, start - 48)
    found = patterns.LIMIT.search(scanned[base:start])
    if found is None:
        return start, ""
    limit = {"le": "<=", "ge": ">=", "gt": ">", "lt": "<", "about": "~"}[found.lastgroup or ""]
    return base + found.start(), limit


def amounts(scanned: str, match: re.Match[str], text: str) -> Iterator[Hit]:
    """What a number or number words state, with what stands around them."""
    start, end = match.span()
    spelled = match.lastgroup == "words"
    open_end = patterns.OR_MORE.match(scanned, end)
    if open_end:
        end = open_end.end()
    measure = _measure(scanned, end, counted=spelled or not _is_label(scanned, start))
    if measure is None or (spelled and not _spelled_counts(match.group(), measure)):
        if not spelled:
            yield from _bare(scanned, match, text)
        return
    yield from _measured(scanned, match, measure, open_end)
    yield from _shared_unit(scanned, measure)


def _measured(scanned: str, match: re.Match[str], measure: _Measure, open_end: re.Match[str] | None) -> Iterator[Hit]:
    end = measure.end
    after = open_end or patterns.OR_MORE.match(scanned, end)
    suffix = (">=" if after[1] else "<=") if after else ""
    if after and after is not open_end:
        end = after.end()
    start, limit = _limit(scanned, match.start())
    ends = _ends(match.group(), match.lastgroup == "words", measure.factor)
    if len(ends) == 2 and scanned[max(0, match.start() - 5) : match.start()].rstrip().lower().endswith("from"):
        for amount in ends:
            yield measure.kind, match.start(), end, _value(amount, measure, limit)
        return
    yield measure.kind, start, end, _value("..".join(ends), measure, suffix or limit)


def _ends(surface: str, spelled: bool, factor: int) -> list[str]:
    if spelled:
        return [str(normalizing.spelled(_PARENTHESIS.sub("", surface)) * factor)]
    span = _RANGE_SEPARATOR.fullmatch(surface)
    numbers = [span["first"], span["last"]] if span else [surface]
    return [normalizing.scaled(n, factor) if factor > 1 else normalizing.number(n) for n in numbers]


def _value(amount: str, measure: _Measure, limit: str) -> str:
    if measure.kind is FactKind.PERCENT:
        return f"{limit}{amount}{measure.unit}"
    if measure.kind is FactKind.MONEY:
        return f"{limit}{measure.unit} {amount}"
    return f"{limit}{amount} {measure.unit}"


def _shared_unit(scanned: str, measure: _Measure) -> Iterator[Hit]:
    found = patterns.INSTEAD.match(scanned, measure.end)
    if found:
        amount = normalizing.number(found["number"])
        yield measure.kind, found.start("number"), found.end("number"), _value(amount, measure, "")


def _spelled_counts(surface: str, measure: _Measure) -> bool:
    """Whether number words state an amount: one of a kind, or two of just anything, is too common a phrase."""
    if measure.kind is not FactKind.QUANTITY or measure.factor > 1:
        return True
    units = TIME_UNITS if surface.lower() == "one" else UNITS
    return measure.unit.partition("/")[0].rpartition(" ")[2] in units


def _is_label(scanned: str, start: int) -> bool:
    """Whether a number names a thing (step 3, Python 3) and counts nothing."""
    before = patterns.PREVIOUS_WORD.search(scanned[max(0, start - 24) : start])
    if before is None:
        return False
    word = before[1]
    return label_before(scanned, start) or (word[0].isupper() and word.lower() not in FUNCTION_WORDS)


def _measure(scanned: str, end: int, *, counted: bool) -> _Measure | None:
    """The unit behind a number; ``counted`` allows any plural noun."""
    word, gap, after = _word(scanned, end)
    if not word:
        return None
    factor = 1
    if word in SCALES:
        factor = SCALES[word]
        scale_end = after
        word, gap, after = _word(scanned, after)
        if not word:
            return _Measure(FactKind.QUANTITY, "", factor, scale_end) if counted else None
    found = _known(scanned, word, gap, after, factor) or (counted and _plural(scanned, word, gap, after, factor)) or None
    if found is None and factor > 1:
        return _Measure(FactKind.QUANTITY, "", factor, scale_end)
    return found


def _word(scanned: str, position: int) -> tuple[str, str, int]:
    found = patterns.SUFFIX.match(scanned, position)
    return (found["word"], found["gap"], found.end()) if found else ("", "", position)


def _known(scanned: str, word: str, gap: str, after: int, factor: int) -> _Measure | None:
    if word in PERCENT_WORDS or (word == "per" and re.match(r"[ \t]+cent\b", scanned[after:after + 8])):
        if word == "per":
            after = scanned.index("cent", after) + 4
        return _Measure(FactKind.PERCENT, "%", factor, after)
    if word == "percentage":
        following, _, points_end = _word(scanned, after)
        return _Measure(FactKind.PERCENT, "pp", factor, points_end) if following.startswith("point") else None
    return _currency_word(scanned, word, after, factor) or _unit(scanned, word, gap, after, factor)


def _currency_word(scanned: str, word: str, after: int, factor: int) -> _Measure | None:
    if word in CURRENCY_CODES:
        return _Measure(FactKind.MONEY, word, factor, after)
    if word in ("US", "U") and (dollars := re.match(r"(?:\.S\.)?[ \t]+dollars?\b", scanned[after : after + 14])):
        return _Measure(FactKind.MONEY, "USD", factor, after + dollars.end())
    if word.isascii():
        code = CURRENCY_WORDS.get(word.lower())
        return _Measure(FactKind.MONEY, code, factor, after) if code else None
    found = _longest(word, CURRENCY_WORDS)
    return _Measure(FactKind.MONEY, CURRENCY_WORDS[found], factor, after - len(word) + len(found)) if found else None


def _longest(word: str, table: dict[str, str]) -> str:
    """The longest beginning of a word without spaces that the table knows."""
    return next((word[:n] for n in range(len(word), 0, -1) if word[:n] in table), "")


def _unit(scanned: str, word: str, gap: str, after: int, factor: int) -> _Measure | None:
    if not word.isascii():
        found = _longest(word, UNITS)
        return _Measure(FactKind.QUANTITY, UNITS[found], factor, after - len(word) + len(found)) if found else None
    if word in UNIT_QUALIFIERS:
        following, _, end = _word(scanned, after)
        unit = UNITS.get(following.lower())
        return _Measure(FactKind.QUANTITY, f"{word} {unit}", factor, end) if unit else None
    unit = UNITS.get(word) or (UNITS.get(word.lower()) if len(word) > 2 else None)
    if unit is None and gap == "":
        unit = TIGHT_UNITS.get(word)
    if unit is None or (unit == "x" and gap) or (len(word) == 1 and gap == "-"):
        return None
    rate = patterns.RATE.match(scanned, after)
    if rate and rate["unit"].lower() in TIME_UNITS:
        return _Measure(FactKind.QUANTITY, f"{unit}/{TIME_UNITS[rate['unit'].lower()]}", factor, rate.end())
    return _Measure(FactKind.QUANTITY, unit, factor, after)


def _plural(scanned: str, word: str, gap: str, after: int, factor: int) -> _Measure | None:
    """Any counted thing: 7 widgets, 6 technical panels."""
    if "/" in word or gap in ("", "-"):
        return None
    for _ in range(2):
        if _is_plural(word):
            return _Measure(FactKind.QUANTITY, _singular(word), factor, after)
        if not word.islower() or word in FUNCTION_WORDS or len(word) < 3:
            return None
        word, gap, after = _word(scanned, after)
        if not word or gap != " ":
            return None
    return None


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word.islower() and word[-1] == "s" and word[-2:] not in ("ss", "us", "is") and word not in NOT_NOUNS


def _singular(word: str) -> str:
    if word in UNITS:
        return UNITS[word]
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]


def _bare(scanned: str, match: re.Match[str], text: str) -> Iterator[Hit]:
    """A number without a unit: a year, a version behind a name, a threshold, a grouped or native number."""
    start, end = match.span()
    surface = match.group()
    single = re.match(patterns.NUMBER, surface)
    if single is not None and single.end() < len(surface):
        return
    hit = _bare_year(scanned, start, surface) or named_version(scanned, start, end)
    if hit is not None:
        yield hit
        if hit[0] is FactKind.VERSION:
            yield from more_versions(scanned, end)
        return
    if scanned[end : end + 1] in ("%", "_", "(", "[", "/") or scanned[end : end + 2] in (". ", ") ") and start and scanned[start - 1] == "\n":
        return
    begin, limit = _limit(scanned, start)
    grouped = "," in surface or " " in surface
    if limit or grouped or not text[start].isascii() or _tells_number(scanned, start, surface):
        yield FactKind.QUANTITY, begin, end, f"{limit}{normalizing.number(surface)}"


def _bare_year(scanned: str, start: int, surface: str) -> Hit | None:
    if not re.fullmatch(patterns.YEAR, surface):
        return None
    before = patterns.YEAR_BEFORE.search(scanned[max(0, start - 16) : start])
    if before is None or scanned[start + 4 : start + 5] in ("s", "x", "_", "(", "%"):
        return None
    return FactKind.DATE, start, start + 4, surface


def _tells_number(scanned: str, start: int, surface: str) -> bool:
    before = patterns.TELLS_NUMBER.search(scanned[max(0, start - 16) : start])
    if before is None:
        return False
    return len(surface) >= 4 or before.group().split()[0].rstrip(":=").lower() in ("limit", "threshold", "maximum", "minimum", "cap", "quota", "default")
