"""Facts of a text: one scan by a combined pattern, then a reader for each of its branches."""

from __future__ import annotations

from collections.abc import Iterator

from overstory.facts import normalizing, patterns, periods
from overstory.facts.amounts import amounts
from overstory.facts.hits import Hit, Reader, Reading
from overstory.facts.model import Fact
from overstory.facts.money import money
from overstory.facts.names import names as names_of
from overstory.facts.versions import versions

_READERS: dict[str, Reader] = {
    "iso": periods.date(normalizing.numeric_date),
    "isomonth": periods.date(normalizing.numeric_date),
    "cjk": periods.date(normalizing.numeric_date),
    "dmy": periods.date(normalizing.day_month_year),
    "dayfirst": periods.date(normalizing.named_date),
    "monthfirst": periods.date(normalizing.named_date),
    "span": periods.date(normalizing.named_date),
    "month": periods.date(normalizing.named_date),
    "years": periods.years,
    "quarter": periods.quarter,
    "fiscal": periods.fiscal,
    "version": versions,
    "money": money,
    "number": amounts,
    "words": amounts,
}


def extract(text: str, *, names: bool = True) -> tuple[Fact, ...]:
    """The facts of ``text`` in the order of their starts.

    Args:
        text: Any text; markup is read as it stands.
        names: Whether names are looked for too; they are reported, never gated.
    """
    plain = patterns.plain(text)
    found = list(_gated(plain, text))
    if names:
        found += names_of(plain)
    found.sort(key=_place)
    return tuple(Fact(kind, text[start:end], value, start, end) for kind, start, end, value in found)


def _place(reading: Reading) -> tuple[int, int]:
    return reading.start, -reading.end


def _gated(plain: str, text: str) -> Iterator[Reading]:
    position = 0
    for trigger in patterns.TRIGGER.finditer(plain):
        start = trigger.start()
        match = patterns.GATED.match(plain, start) if start >= position else None
        if match is None or _in_address(plain, start):
            continue
        position = match.end()
        for reading in _READERS[match.lastgroup or ""](Hit(plain, text, match)):
            yield reading
            position = max(position, reading.end)


def _in_address(plain: str, start: int) -> bool:
    """Whether a hit lies in a URL, whose numbers state nothing."""
    before = plain[max(0, start - 160) : start]
    return "/" in before and patterns.ADDRESS.search(before) is not None
