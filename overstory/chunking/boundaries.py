"""Finds where running text may be cut: sentences and lines, then words, then graphemes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import regex

SENTENCE = 0.8
LINE = 0.9
CLAUSE = 1.2
WORD = 1.6
GRAPHEME = 3.0
INSIDE_GRAPHEME = 6.0

_CLOSING = r"[\"'”’»)\]}」』）】》〉]*"
_WHOLE = r"(?<!\r)(?![\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}])"
"""White space takes a combining mark behind it into its grapheme cluster (UAX #29): no cut there."""
_OPENING = r"(?=[\p{Lu}\p{Lt}\p{Lo}\p{N}\p{Ps}\p{Pi}\"'*_`#•-])"
_SENTENCES = regex.compile(
    rf"(?P<sentence>(?:(?:\G|(?<![.!?…]))[.!?…]++{_CLOSING}\s+{_OPENING}|[。！？｡؟۔।॥]+{_CLOSING}\s*){_WHOLE})|\n+",
    regex.VERSION0,
)
_WORDS = regex.compile(rf"(?P<clause>(?:[,;:—]\s+|[，、；：،؛])\s*{_WHOLE})|\s+{_WHOLE}")
_LINES = regex.compile(r"\n+")
_GRAPHEMES = regex.compile(r"[\U0001F1E6-\U0001F1FF]{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X")
"""Flags are spelled out: ``\\X`` alone counts regional indicators from the start of their row each time."""


class Cut(NamedTuple):
    """A place where a text may be cut, and the price of doing so."""

    at: int
    price: float


def sentences(text: str, start: int, end: int) -> Iterator[Cut]:
    """The beginnings of sentences and lines strictly inside ``text[start:end]``."""
    for match in _SENTENCES.finditer(text, start, end):
        if match.end() < end:
            yield Cut(match.end(), SENTENCE if match.lastgroup else LINE)


def lines(text: str, start: int, end: int) -> Iterator[Cut]:
    """The beginnings of lines strictly inside ``text[start:end]``; cheaper behind a blank line."""
    for match in _LINES.finditer(text, start, end):
        if match.end() < end:
            yield Cut(match.end(), SENTENCE if match.end() - match.start() > 1 else LINE)


def words(text: str, start: int, end: int) -> Iterator[Cut]:
    """The beginnings of clauses and words strictly inside ``text[start:end]``."""
    for match in _WORDS.finditer(text, start, end):
        if match.end() < end:
            yield Cut(match.end(), CLAUSE if match.lastgroup else WORD)


def graphemes(text: str, start: int, end: int) -> Iterator[Cut]:
    """The beginnings of grapheme clusters (UAX #29) strictly inside ``text[start:end]``."""
    for match in _GRAPHEMES.finditer(text, start, end):
        if match.end() < end:
            yield Cut(match.end(), GRAPHEME)


def code_points(start: int, end: int) -> Iterator[Cut]:
    """Every place inside a grapheme cluster that no limit can hold."""
    for at in range(start + 1, end):
        yield Cut(at, INSIDE_GRAPHEME)


def grouped(text: str, start: int, end: int, cuts: Iterable[Cut], most_bytes: int) -> Iterator[Cut]:
    """``cuts`` without those that would leave pieces much shorter than ``most_bytes`` of UTF-8.

    A piece has no more tokens than bytes. Where a group ends depends on the lengths of pieces only, not on
    their number, so that an insertion does not shift all groups behind it.
    """
    opened = start
    size = 0
    last = Cut(start, 0.0)
    for cut in [*cuts, Cut(end, 0.0)]:
        length = len(text[last.at : cut.at].encode("utf-8", "surrogatepass"))
        full = size + length > most_bytes or (size * 2 >= most_bytes and length % 4 == 0)
        if full and last.at > opened:
            yield last
            opened, size = last.at, 0
        size += length
        last = cut
