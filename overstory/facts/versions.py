"""Versions: dotted numbers that a word or a third component makes one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from overstory.facts.model import FactKind
from overstory.facts.patterns import MORE_VERSIONS, NAME_BEFORE
from overstory.facts.vocabulary import LABELS, MONTHS

Hit = tuple[FactKind, int, int, str]

_PREFIX = re.compile(r"v(?:ersions?\b|er\.)?\s*(?:is\s|:\s)?", re.IGNORECASE)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_HEADING = re.compile(r"[ \t]+[A-Z][a-z]")


def version(scanned: str, match: re.Match[str]) -> Hit | None:
    """The version that the pattern hit, unless it numbers a heading or is an address."""
    surface = match.group()
    value = _PREFIX.sub("", surface, count=1)
    if _ADDRESS.fullmatch(surface) or _numbers_a_heading(scanned, match.start(), match.end(), surface):
        return None
    return FactKind.VERSION, match.start(), match.end(), value.lower()


def _numbers_a_heading(scanned: str, start: int, end: int, surface: str) -> bool:
    if not surface[0].isdigit():
        return False
    line = scanned[scanned.rfind("\n", 0, start) + 1 : start]
    return line.strip(" #*\t=") == "" and bool(_HEADING.match(scanned, end)) or label_before(scanned, start)


def label_before(scanned: str, start: int) -> bool:
    """Whether the word before ``start`` makes a number a label: section 4.2."""
    before = re.search(r"([A-Za-z]+)\.?[ \t\n]*$", scanned[max(0, start - 16) : start])
    return before is not None and before[1].lower() in LABELS


def named_version(scanned: str, start: int, end: int) -> Hit | None:
    """``3.6`` behind a name, as in Python 3.6; the number alone is no version."""
    if "." not in scanned[start:end] or "," in scanned[start:end]:
        return None
    before = NAME_BEFORE.search(scanned[max(0, start - 24) : start])
    if before is None:
        return None
    name = (before["name"] or "").lower()
    if name in LABELS or name in MONTHS or len(name) == 1 or name in _SENTENCE_STARTS:
        return None
    return FactKind.VERSION, start, end, scanned[start:end]


def more_versions(scanned: str, end: int) -> Iterator[Hit]:
    """Versions that follow one in a list: 2.7, 3.5 and 3.6."""
    while found := MORE_VERSIONS.match(scanned, end):
        yield FactKind.VERSION, found.start("number"), found.end(), found["number"]
        end = found.end()


_SENTENCE_STARTS = frozenset("the a an in at about over under from to of for only is was by and or with than if".split())
