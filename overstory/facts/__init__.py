"""Facts of texts: dates, period labels, money, percentages, quantities, versions and names.

Two spellings are the same fact where this package normalizes them to one value: number groups and decimal zeros,
every script's digits, the usual spellings of a date, ``third quarter of 2025`` and ``Q3 2025``, number words,
currency symbols and codes, plural and abbreviated units. Amounts in different units or scales of units stay apart.
"""

from __future__ import annotations

from overstory.facts.checking import FactCheck, FactCheckRecord, KindCount, check
from overstory.facts.extracting import extract
from overstory.facts.model import GATED_KINDS, Fact, FactKind, split_limit

__all__ = [
    "GATED_KINDS",
    "Fact",
    "FactCheck",
    "FactCheckRecord",
    "FactKind",
    "KindCount",
    "check",
    "extract",
    "split_limit",
]
