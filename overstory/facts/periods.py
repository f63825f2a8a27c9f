"""Dates and labels of periods, from the branches of the combined pattern to readings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from overstory.facts import normalizing
from overstory.facts.hits import Hit, Reader, Reading
from overstory.facts.model import FactKind
from overstory.facts.patterns import MONTH

_YEARS = re.compile(r"\d{4}", re.ASCII)
_FISCAL_YEARS = re.compile(r"\D*(?P<year>\d{4}|\d\d)(?:[/-]\d\d(?:\d\d)?(?!\d))?", re.ASCII)
_DATE = re.compile(rf"{MONTH}.*", re.DOTALL)


def date(read: Callable[[str], str | None]) -> Reader:
    """A reader of dates by ``read``, which gives None for what is no date."""

    def readings(hit: Hit) -> Iterator[Reading]:
        value = read(hit.match.group())
        if value is not None:
            yield Reading(FactKind.DATE, *hit.match.span(), value)

    return readings


def years(hit: Hit) -> Iterator[Reading]:
    """A range of years, a decade, or the year of mid-2025."""
    if hit.match.group().endswith("s"):
        yield Reading(FactKind.DATE, *hit.match.span(), hit.match.group())
        return
    first, *last = _YEARS.findall(hit.match.group())
    if not last or first < last[0]:
        yield Reading(FactKind.DATE, *hit.match.span(), "..".join((first, *last)))


def quarter(hit: Hit) -> Iterator[Reading]:
    """A quarter or half, with its year where the text names one."""
    value = normalizing.period(hit.match.group())
    if value is not None:
        yield Reading(FactKind.QUARTER, *hit.match.span(), value)


def fiscal(hit: Hit) -> Iterator[Reading]:
    """Fiscal years; one that is told by its last day is a date too."""
    start, end = hit.match.span()
    dated = _DATE.search(hit.match.group())
    if dated is None:
        for found in _FISCAL_YEARS.finditer(hit.match.group()):
            value = f"FY{normalizing.year(found['year'])}"
            inner = found.start() if found.start() == 0 else found.start("year")
            yield Reading(FactKind.QUARTER, start + inner, start + found.end(), value)
        return
    value = normalizing.named_date(dated.group()) or ""
    if value:
        yield Reading(FactKind.QUARTER, start, end, f"FY{value[:4]}")
        yield Reading(FactKind.DATE, start + dated.start(), end, value)
