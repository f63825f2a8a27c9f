"""What the combined pattern hit, and what a reader of hits makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from overstory.facts.model import FactKind


class Hit(NamedTuple):
    """One match of the combined pattern."""

    plain: str
    """The text in its plain form, of the same length."""
    text: str
    match: re.Match[str]

    def before(self, chars: int) -> str:
        """Up to ``chars`` characters in front of the match."""
        start = self.match.start()
        return self.plain[max(0, start - chars) : start]


class Reading(NamedTuple):
    """A fact in the making: its kind, place and value."""

    kind: FactKind
    start: int
    end: int
    value: str


Reader = Callable[[Hit], Iterator[Reading]]
