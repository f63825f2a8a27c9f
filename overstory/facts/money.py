"""Amounts of money that a symbol or a code introduces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from overstory.facts import normalizing
from overstory.facts.amounts import limit_before
from overstory.facts.hits import Hit, Reading
from overstory.facts.model import FactKind
from overstory.facts.patterns import NUMBER
from overstory.facts.vocabulary import CURRENCY_CODES, CURRENCY_SYMBOLS, DOLLAR_PREFIXES, MONEY_SCALES, SCALES

_AMOUNT = re.compile(
    rf"(?P<number>{NUMBER})(?:[ \t\n-]*(?P<scale>thousand|million|billion|trillion|mn|bn|[kKmMBbT])\b)?", re.ASCII
)
_MOST_DIGITS = 24
"""Of an amount in two parts: ``Decimal`` is exact up to 28."""
_CODE = re.compile(r"[A-Z]{3}")


def money(hit: Hit) -> Iterator[Reading]:
    """``$49``, ``US $100``, ``EUR 3.4 million``, ``$5-10``, ``$4 billion 100 million``."""
    surface = hit.match.group()
    found = list(_AMOUNT.finditer(surface))
    start, limit = limit_before(hit)
    amount = _amount(surface, found)
    yield Reading(FactKind.MONEY, start, hit.match.end(), f"{limit}{_currency(surface)} {amount}")


def _amount(surface: str, found: list[re.Match[str]]) -> str:
    first = found[0]
    if len(found) == 1:
        return _scaled(first["number"], first["scale"])
    second = found[1]
    last = _scaled(second["number"], second["scale"])
    if not surface[first.end() : second.start()].strip():
        return _sum(_scaled(first["number"], first["scale"]), last)
    return f"{_scaled(first['number'], first['scale'] or second['scale'])}..{last}"


def _sum(first: str, last: str) -> str:
    """Two normalized numbers added exactly, or side by side where they are too long to be an amount."""
    if len(first) + len(last) > _MOST_DIGITS:
        return f"{first} {last}"
    return normalizing.number(f"{Decimal(first) + Decimal(last):f}")


def _scaled(number: str, scale: str | None) -> str:
    factor = (SCALES.get(scale) or MONEY_SCALES[scale]) if scale else 1
    return normalizing.scaled(number, factor)


def _currency(surface: str) -> str:
    code = _CODE.search(surface)
    if code and code.group() in CURRENCY_CODES:
        return code.group()
    symbol = next(char for char in surface if char in CURRENCY_SYMBOLS)
    prefix = surface[: surface.index(symbol)].strip()
    return DOLLAR_PREFIXES.get(prefix, CURRENCY_SYMBOLS[symbol])
