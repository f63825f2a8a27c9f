"""A summary's text from the statements chosen for it: in source order, under their titles and headings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

from overstory.extractive.salience import words
from overstory.extractive.selecting import Candidate
from overstory.extractive.units import Section, Unit
from overstory.facts.vocabulary import spaced

MAX_TITLE_CHARS = 120
MAX_HEADING_CHARS = 80
_EMPTY_HEADINGS = spaced(
    "abstract introduction overview summary description general rationale motivation background specification"
    " references footnotes notes content contents"
    " copyright details discussion other misc miscellaneous intro preface"
)


def compose(chosen: Sequence[Candidate], titles: Sequence[str]) -> str:
    """One line a section; the title of each part leads its first line.

    Args:
        chosen: Statements in any order.
        titles: One a part, empty where a part has none.
    """
    units = sorted((candidate.unit for candidate in chosen), key=lambda unit: unit.start)
    lines = []
    for part, inside in groupby(units, key=lambda unit: unit.section.part):
        title = titles[part]
        for n, (section, group) in enumerate(groupby(inside, key=lambda unit: unit.section)):
            lines.append(_line(section, list(group), title if n == 0 else "", titles[part]))
    return "\n".join(lines)


def _line(section: Section, units: list[Unit], lead: str, title: str) -> str:
    text = _joined(units)
    heading = section.heading.text
    opening = _told(units[0])
    if lead and len(lead) <= MAX_TITLE_CHARS and lead.casefold() not in opening.casefold():
        prefix = lead
        if heading and _adds(heading, f"{lead} {opening}"):
            prefix = f"{lead}, {heading}"
        return _headed(prefix, text)
    if heading and _adds(heading, f"{title} {opening}" if lead else opening):
        return _headed(heading, text)
    return text


def _told(unit: Unit) -> str:
    """A statement behind the words that open its paragraph."""
    if not unit.lead.text or unit.text.casefold().startswith(unit.lead.text.casefold()):
        return unit.text
    return _headed(unit.lead.text, unit.text)


def _headed(heading: str, text: str) -> str:
    return f"{heading} {text}" if heading[-1] in "?!？！" else f"{heading}: {text}"


def _joined(units: list[Unit]) -> str:
    text = _told(units[0])
    for before, unit in pairwise(units):
        unspaced = "\u3000" <= text[-1] <= "\u9fff" or "\uff00" <= text[-1] <= "\uffef"
        told = unit.text if unit.lead == before.lead else _told(unit)
        text += told if unspaced else f" {told}"
    return text


def _adds(heading: str, text: str) -> bool:
    """Whether a heading tells something that the text behind it does not."""
    if not heading or len(heading) > MAX_HEADING_CHARS or heading.casefold() in _EMPTY_HEADINGS:
        return False
    said = words(heading)
    return bool(said - words(text)) or (not said and heading not in text)


def fit(chosen: list[Candidate], titles: Sequence[str], limit: int, count: Callable[[str], int]) -> str:
    """The composed text within ``limit`` tokens: what was chosen last goes first, headings before statements."""
    chosen = list(chosen)
    while chosen:
        text = compose(chosen, titles)
        if count(text) <= limit:
            return text
        if len(chosen) == 1:
            bare = chosen[0].unit.text
            return bare if count(bare) <= limit else ""
        chosen.pop()
    return ""
