"""Nuggets: the single facts of a full answer, and whether a text states them (examples/README.md has the rule)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from overstory.errors import SettingsError

WINDOW_CHARS = 400
"""All items of a nugget lie within this stretch."""

_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-"})


@dataclass(frozen=True, slots=True)
class Nugget:
    """One fact of a full answer."""

    id: str
    must_state: tuple[tuple[str, ...], ...]
    """Every item must be stated, by any one of its spellings."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the facts that a full answer holds."""

    id: str
    kind: str
    text: str
    nuggets: tuple[Nugget, ...]


def load_questions(path: Path) -> list[Question]:
    """The questions in a gold file of the form of ``examples/gold.json``.

    Raises:
        SettingsError: The file cannot be read or has another form.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [_question(entry) for entry in document["questions"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path} holds no questions: {error}", hint="See examples/README.md") from error


def _question(entry: dict[str, object]) -> Question:
    nuggets = entry["nuggets"]
    if not isinstance(nuggets, list):
        raise TypeError("nuggets must be a list")
    return Question(
        id=str(entry["id"]),
        kind=str(entry["kind"]),
        text=str(entry["text"]),
        nuggets=tuple(Nugget(str(n["id"]), tuple(_alternatives(item) for item in n["must_state"])) for n in nuggets),
    )


def _alternatives(item: object) -> tuple[str, ...]:
    return tuple(plain(str(one)) for one in item) if isinstance(item, list) else (plain(str(item)),)


def plain(text: str) -> str:
    """Lower case, white space collapsed, typographic quotes and dashes made plain."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN).lower().split())


def stated(nuggets: Sequence[Nugget], text: str) -> list[Nugget]:
    """The nuggets that the text states, in their order."""
    haystack = plain(text)
    return [nugget for nugget in nuggets if _states(haystack, nugget)]


def _states(haystack: str, nugget: Nugget) -> bool:
    places = [[place for spelling in item for place in _occurrences(haystack, spelling)] for item in nugget.must_state]
    if not all(places):
        return False
    first, *others = places
    return any(_gathers(anchor, others) for anchor in first)


def _gathers(anchor: tuple[int, int], others: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether one occurrence of each item lies with ``anchor`` in a stretch of ``WINDOW_CHARS``."""
    near = [[(s, e) for s, e in item if max(e, anchor[1]) - min(s, anchor[0]) <= WINDOW_CHARS] for item in others]
    if not all(near):
        return False
    combinations = product(*(item[:20] for item in near))
    return any(_width([anchor, *chosen]) <= WINDOW_CHARS for chosen in combinations)


def _width(places: Sequence[tuple[int, int]]) -> int:
    return max(end for _, end in places) - min(start for start, _ in places)


def _occurrences(haystack: str, needle: str) -> Iterator[tuple[int, int]]:
    """Where ``needle`` stands without beginning or ending inside a word or a number."""
    for match in re.finditer(re.escape(needle), haystack):
        start, end = match.span()
        if not _joined(haystack, start) and not _joined(haystack, end):
            yield start, end


def _joined(haystack: str, border: int) -> bool:
    """Whether the characters on both sides of a border belong to one word or number."""
    if border in (0, len(haystack)):
        return False
    left, right = haystack[border - 1], haystack[border]
    if left.isalnum() and right.isalnum():
        return True
    number = left.isdigit() and right in ".,", right.isdigit() and left in ".,"
    beyond = haystack[border + 1 : border + 2] if number[0] else haystack[border - 2 : border - 1]
    return any(number) and beyond.isdigit()
