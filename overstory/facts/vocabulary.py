"""The closed word lists that facts are recognized by, in one place to import from."""

from __future__ import annotations

from overstory.facts.currencies import CURRENCY_CODES, CURRENCY_SYMBOLS, CURRENCY_WORDS, DOLLAR_PREFIXES, MONEY_SCALES
from overstory.facts.numerals import MONTHS, ONES, ORDINALS, SCALES, TENS
from overstory.facts.units import COUNTS, MEASURES, PERCENT_WORDS, TIGHT_UNITS, TIME_UNITS, UNIT_QUALIFIERS, UNITS
from overstory.facts.word_lists import spaced
from overstory.facts.words import FUNCTION_WORDS, LABELS, NOT_NOUNS

__all__ = [
    "COUNTS",
    "CURRENCY_CODES",
    "CURRENCY_SYMBOLS",
    "CURRENCY_WORDS",
    "DOLLAR_PREFIXES",
    "FUNCTION_WORDS",
    "LABELS",
    "MEASURES",
    "MONEY_SCALES",
    "MONTHS",
    "NOT_NOUNS",
    "ONES",
    "ORDINALS",
    "PERCENT_WORDS",
    "SCALES",
    "TENS",
    "TIGHT_UNITS",
    "TIME_UNITS",
    "UNITS",
    "UNIT_QUALIFIERS",
    "spaced",
]
