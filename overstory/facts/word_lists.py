"""How the closed lists of words are written: with spaces, a unit's spellings after one another."""

from __future__ import annotations


def spaced(words: str) -> frozenset[str]:
    """The words of a list that is written with spaces."""
    return frozenset(words.split())


def spellings(table: str) -> dict[str, str]:
    """Every spelling to its unit's first one, of units that are parted by semicolons."""
    units: dict[str, str] = {}
    for line in table.split(";"):
        canonical, *others = line.split()
        for spelling in (canonical, *others):
            units[spelling] = canonical
    return units


def numbered(groups: str, first: int, step: int = 1) -> dict[str, int]:
    """Numbers of groups of words, which are parted by semicolons."""
    parts = enumerate(groups.split(";"))
    return {word: first + step * number for number, group in parts for word in group.split()}
