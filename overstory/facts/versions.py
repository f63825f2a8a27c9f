"""Versions: dotted numbers that a word or a third component makes one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from overstory.facts.hits import Hit, Reading
from overstory.facts.model import FactKind
from overstory.facts.patterns import HEADED, MORE_VERSIONS, NAME_BEFORE, NUMBERING
from overstory.facts.vocabulary import FUNCTION_WORDS, LABELS, MONTHS

_INDENT = 40
"""Characters of a line's beginning that hold nothing but markers."""
_PREFIX = re.compile(r"v(?:ersions?\b|er\.)?\s*(?:is\s|:\s)?", re.IGNORECASE)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_LABEL = re.compile(r"(?:([A-Za-z]+)|\b((?i:no|nos|fig|sec|art|ch|vol|pp?))\.)[ \t]*\n?[ \t]*$")


def versions(hit: Hit) -> Iterator[Reading]:
    """The version that the pattern hit and those listed behind it, unless it numbers a heading or is an address."""
    surface = hit.match.group()
    start, end = hit.match.span()
    numbering = surface[0].isdigit() and (numbers_a_line(hit.plain, start, end) or label_before(hit.plain, start))
    if numbering or _ADDRESS.fullmatch(surface):
        return
    yield Reading(FactKind.VERSION, start, end, _PREFIX.sub("", surface, count=1).lower())
    yield from more_versions(hit.plain, end)


def numbers_a_line(plain: str, start: int, end: int) -> bool:
    """Whether a number stands at the start of a line and a capital behind it: 4.2 License."""
    begin = plain.rfind("\n", max(0, start - _INDENT), start)
    marks = plain[begin + 1 : start].lstrip()
    if (begin < 0 and start > _INDENT) or marks.strip(" #*\t=>") or marks.startswith("* "):
        return False
    heading = "#" in marks
    return (HEADED if heading else NUMBERING).match(plain, end) is not None


def label_before(plain: str, start: int) -> bool:
    """Whether the word before ``start`` makes a number a label: section 4.2."""
    before = _LABEL.search(plain[max(0, start - 16) : start])
    return before is not None and (before[2] is not None or before[1].lower() in LABELS)


def named_version(hit: Hit) -> Reading | None:
    """``3.6`` behind a name, as in Python 3.6; the number alone is no version."""
    surface = hit.match.group()
    if "." not in surface or "," in surface:
        return None
    before = NAME_BEFORE.search(hit.before(24))
    if before is None:
        return None
    name = (before["name"] or "version").lower()
    if len(name) == 1 or name in LABELS or name in MONTHS or name in FUNCTION_WORDS:
        return None
    return Reading(FactKind.VERSION, *hit.match.span(), surface)


def more_versions(plain: str, end: int) -> Iterator[Reading]:
    """Versions that follow one in a list: 2.7, 3.5 and 3.6."""
    while found := MORE_VERSIONS.match(plain, end):
        yield Reading(FactKind.VERSION, found.start("number"), found.end(), found["number"])
        end = found.end()
