"""Names: products, organizations, identifiers; reported, never gated."""

from __future__ import annotations

from collections.abc import Iterator

from overstory.facts.hits import Reading
from overstory.facts.model import FactKind
from overstory.facts.patterns import NAME
from overstory.facts.vocabulary import FUNCTION_WORDS, spaced

_OPENINGS = FUNCTION_WORDS | spaced(
    "see use using once other another please note how what why he she your our its however although therefore thus"
)


def names(plain: str) -> Iterator[Reading]:
    """The names in a text, without the word that opens its sentence."""
    for match in NAME.finditer(plain):
        surface, start = match.group(), match.start()
        first, gap, rest = surface.partition(" ")
        if gap and first.lower() in _OPENINGS:
            start += len(first) + 1
            surface = rest
            if " " not in surface and surface[1:].islower():
                continue
        yield Reading(FactKind.NAME, start, match.end(), surface)
