"""What a fact is: its kind, its words in the text and the normalized value it is compared by."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FactKind(StrEnum):
    """What a fact states."""

    DATE = "date"
    QUARTER = "quarter"
    """Quarters, halves and fiscal years: labels of a period."""
    MONEY = "money"
    PERCENT = "percent"
    QUANTITY = "quantity"
    VERSION = "version"
    NAME = "name"
    """Products, organizations, identifiers: reported, never gated."""


GATED_KINDS = (
    FactKind.DATE,
    FactKind.QUARTER,
    FactKind.MONEY,
    FactKind.PERCENT,
    FactKind.QUANTITY,
    FactKind.VERSION,
)
"""The kinds that survival is computed over."""

LIMITS = ("<=", ">=", "<", ">", "~")
"""What may stand before an amount in ``Fact.value``: at most, at least, below, above, about."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact as a text states it."""

    kind: FactKind
    surface: str
    """The words of the text: ``text[start:end]``."""
    value: str
    """Normalized: ``2025-03-14``, ``2024-Q3``, ``FY2025``, ``USD 49``, ``95%``, ``<=30 day``, ``2..3 week``,"
    " ``4.1``."""
    start: int
    end: int


def split_limit(value: str) -> tuple[str, str]:
    """A value as (limit, amount); the limit is empty where the text names none."""
    if value[:2] in LIMITS:
        return value[:2], value[2:]
    if value[:1] in LIMITS:
        return value[:1], value[1:]
    return "", value
