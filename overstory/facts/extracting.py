"""Facts of a text: one scan by a combined pattern, a closed vocabulary decides what each hit is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from overstory.facts import normalizing, patterns
from overstory.facts.amounts import amounts, money
from overstory.facts.model import Fact, FactKind
from overstory.facts.versions import more_versions, version

Hits = Iterator[tuple[FactKind, int, int, str]]


def extract(text: str, *, names: bool = True) -> tuple[Fact, ...]:
    """The facts of ``text`` in the order of their starts.

    Args:
        text: Any text; markup is read as it stands.
        names: Whether names are looked for too; they are reported, never gated.
    """
    scanned = patterns.plain(text)
    found = [Fact(kind, text[start:end], value, start, end) for kind, start, end, value in _hits(scanned, text)]
    if names:
        found += [Fact(FactKind.NAME, text[start:end], value, start, end) for start, end, value in _names(scanned)]
        found.sort(key=lambda fact: (fact.start, -fact.end))
    return tuple(found)


def _hits(scanned: str, text: str) -> Hits:
    position = 0
    for match in patterns.GATED.finditer(scanned):
        if match.start() < position:
            continue
        branch = match.lastgroup or ""
        for hit in _BRANCHES[branch](scanned, match, text):
            yield hit
            position = max(position, hit[2])


def _date(read: Callable[[str], str | None]) -> Callable[[str, re.Match[str], str], Hits]:
    def hits(scanned: str, match: re.Match[str], text: str) -> Hits:
        value = read(match.group())
        if value is not None:
            yield FactKind.DATE, match.start(), match.end(), value

    return hits


def _years(scanned: str, match: re.Match[str], text: str) -> Hits:
    first, last = re.findall(r"\d{4}", match.group())
    if first < last:
        yield FactKind.DATE, match.start(), match.end(), f"{first}..{last}"


def _quarter(scanned: str, match: re.Match[str], text: str) -> Hits:
    value = normalizing.period(match.group())
    if value is not None:
        yield FactKind.QUARTER, match.start(), match.end(), value


def _fiscal(scanned: str, match: re.Match[str], text: str) -> Hits:
    surface = match.group()
    if re.search(patterns.MONTH, surface):
        date = re.search(rf"{patterns.MONTH}.*", surface, re.DOTALL)
        value = normalizing.named_date(date.group()) if date else None
        if date and value:
            yield FactKind.QUARTER, match.start(), match.end(), f"FY{value[:4]}"
            yield FactKind.DATE, match.start() + date.start(), match.end(), value
        return
    start = match.start()
    for found in re.finditer(r"\d{4}(?:[/-]\d\d(?:\d\d)?)?|\d\d", surface):
        yield FactKind.QUARTER, start, match.start() + found.end(), f"FY{normalizing.year(found.group())}"
        start = match.start() + found.end()
        start += len(surface[found.end() :]) - len(re.sub(r"^\D+", "", surface[found.end() :]))


def _versions(scanned: str, match: re.Match[str], text: str) -> Hits:
    hit = version(scanned, match)
    if hit is not None:
        yield hit
        yield from more_versions(scanned, hit[2])


_NAME_STARTS = frozenset(
    "The A An This That These Those If In On At By For From With To When Where While As And Or But Not No Yes It Its We You Your They He She"
    " Our All Any Each Every Some Such See Use Using Also Both After Before During Since Until Please Note There Here How What Why Who"
    " Which Then Thus However Although Because Given Let Once Only Other Another Under Over".split()
)


def _names(scanned: str) -> Iterator[tuple[int, int, str]]:
    for match in patterns.NAME.finditer(scanned):
        surface, start = match.group(), match.start()
        first, gap, rest = surface.partition(" ")
        if gap and first in _NAME_STARTS:
            start += len(first) + 1
            surface = rest
            if " " not in surface and surface[1:] == surface[1:].lower():
                continue
        yield start, match.end(), surface


_BRANCHES: dict[str, Callable[[str, re.Match[str], str], Hits]] = {
    "iso": _date(normalizing.numeric_date),
    "isomonth": _date(normalizing.numeric_date),
    "cjk": _date(normalizing.numeric_date),
    "dmy": _date(normalizing.day_month_year),
    "dayfirst": _date(normalizing.named_date),
    "monthfirst": _date(normalizing.named_date),
    "span": _date(normalizing.named_date),
    "month": _date(normalizing.named_date),
    "years": _years,
    "quarter": _quarter,
    "fiscal": _fiscal,
    "version": _versions,
    "money": money,
    "number": amounts,
    "words": amounts,
}
