"""The extractive summary of texts, as one pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from overstory import facts
from overstory.extractive.composing import fit
from overstory.extractive.markup import clean
from overstory.extractive.selecting import Candidate, candidates, select
from overstory.extractive.units import NONE, Material, material

VERSION = "1"
"""Part of every recipe hash: raise it whenever the same texts would give another summary."""

_OUTLINE_CHARS = 4_000

Count = Callable[[str], int]


def summarize(
    parts: Sequence[str], target_tokens: int, max_tokens: int, count: Count, *, separate: bool = False
) -> str:
    """Statements of ``parts`` that carry most of their facts and topic, in source order.

    Deterministic and near-linear in the length of the parts.

    Args:
        parts: Texts of the children in reading order; consecutive pieces of one text unless ``separate``.
        target_tokens: Length to aim at; beyond it only statements with further facts are taken.
        max_tokens: Length that is never passed.
        count: Counts the tokens of a text.
        separate: Whether the parts are texts of their own, each to be represented (members of a cluster).

    Returns:
        The summary; empty exactly when no part holds a letter or digit, or ``max_tokens`` fits none.
    """
    source, spans = _joined(parts, separate=separate)
    if not any(map(str.isalnum, source)):
        return ""
    found = material(spans, source)
    source_facts = facts.extract(source, names=False)
    statements = candidates(found, source_facts, count, separate=separate)
    titles = [title.text for title in found.titles]
    chosen = select(statements, titles, target_tokens, max_tokens, separate=separate)
    text = _supported(chosen, titles, max_tokens, count, source_facts)
    if text:
        return text
    told = [unit.text for unit in found.units] or [_outline(found, source)]
    return _clipped(told, max_tokens, count, lambda clipped: _supports(source_facts, clipped))


def _joined(parts: Sequence[str], *, separate: bool) -> tuple[str, list[tuple[int, int]]]:
    """The source and the offsets of what is told apart in it."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    length = 0
    for part in parts:
        if pieces and (separate or not (pieces[-1][-1:].isspace() or part[:1].isspace())):
            pieces.append("\n\n")
            length += 2
        pieces.append(part)
        spans.append((length, length + len(part)))
        length += len(part)
    return "".join(pieces), spans if separate else [(0, length)]


def _supported(
    chosen: list[Candidate], titles: Sequence[str], limit: int, count: Count, source_facts: Sequence[facts.Fact]
) -> str:
    """The composed text, less what would state a fact that the source does not.

    Cleaned markup and a heading before a number can make one (Python: 3.6); then the statement goes, or the headings.
    """
    text = fit(chosen, titles, limit, count)
    if _supports(source_facts, text):
        return text
    sound = [candidate for candidate in chosen if _supports(source_facts, candidate.unit.text)]
    kept: list[Candidate] = []
    text = ""
    for candidate in map(_unheaded, sound):
        longer = fit([*kept, candidate], [""] * len(titles), limit, count)
        if _supports(source_facts, longer):
            kept.append(candidate)
            text = longer
    return text


def _supports(source_facts: Sequence[facts.Fact], text: str) -> bool:
    return not facts.check(source_facts, facts.extract(text, names=False)).unsupported


def _unheaded(candidate: Candidate) -> Candidate:
    section = replace(candidate.unit.section, heading=NONE)
    return replace(candidate, unit=replace(candidate.unit, section=section, lead=NONE))


def _outline(found: Material, source: str) -> str:
    """What there is to say of a source without a statement: its headings, else its words."""
    title, *headings = found.outline or ("",)
    told = f"{title}: {'; '.join(headings)}." if headings else title
    return told or clean(source[:_OUTLINE_CHARS])


def _clipped(texts: Sequence[str], limit: int, count: Count, supported: Callable[[str], bool]) -> str:
    """The first text that fits; where none does, the beginning of the first."""
    fitting = next((text for text in texts if count(text) <= limit and supported(text)), None)
    if fitting is not None:
        return fitting
    low, high = 0, len(texts[0])
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(_cut(texts[0], middle)) <= limit else (low, middle - 1)
    while low and not supported(_cut(texts[0], low)):
        low = max(texts[0].rfind(" ", 0, low), 0)
    return _cut(texts[0], low) if low else ""


def _cut(text: str, length: int) -> str:
    return f"{text[:length].rstrip()}…"
