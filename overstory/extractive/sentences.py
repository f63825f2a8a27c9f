"""Sentence ends, in any script; abbreviations, decimals, versions and initials end none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from overstory.facts.vocabulary import spaced

_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*(?:[ ]?\[[^\]\s]{1,20}\]_?)?(?=\s|$)"
    r"|[。！？｡]+[」』”’）)\"]*"
    r"|(?<![؟۔।॥])[؟۔।॥]++(?=\s|$)"
)
"""A run of marks is tried once, from its start: from its middle it would fail as it did before."""
_NEXT = re.compile(r"\s*[\"'“‘«(\[*_`]*(\S)")
_WORD_BEFORE = re.compile(r"[\w.&-]+$")
_ABBREVIATIONS = spaced(
    "e.g i.e eg ie etc vs cf al mr mrs ms dr prof st no nos inc ltd co corp fig figs sec secs ch vol ed eds"
    " pp p approx dept est"
    " u.s u.k u.n e.u a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec gov gen sen rep rev hon jr sr"
    " viz ca resp incl excl"
    " max min avg para art ref refs eq eqs dir ext tel op ver z.b bzw d.h n.b w.r.t a.k.a"
)
_NEVER_LAST = spaced(
    "e.g i.e eg ie vs cf mr mrs ms dr prof fig figs sec no nos vol approx resp incl viz para art z.b bzw d.h"
)
"""Abbreviations that something always follows, even a capital letter."""
LONG_CHARS = 420
"""A sentence longer than this is parted at its semicolons, then colons and commas: legal prose and lists in"
" one sentence."""
_CLAUSE_ENDS = (
    re.compile(r"[;；](?=\s|$)|[；]"),
    re.compile(r"[:—–](?=\s)|[，、،](?=.)"),
    re.compile(r",(?=\s)"),
    re.compile(r"\s+"),
)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of the sentences of ``text``: a paragraph, with its line ends and markup."""
    start = 0
    for found in _END.finditer(text):
        if found.end() > start and _ends_here(text, start, found):
            yield from _parted(text, start, found.end())
            start = found.end()
    yield from _parted(text, start, len(text))


def _ends_here(text: str, start: int, found: re.Match[str]) -> bool:
    if found.group()[0] != ".":
        return True
    following = _NEXT.match(text, found.end())
    if following is None:
        return True
    before = _WORD_BEFORE.search(text, max(start, found.start() - 24), found.start())
    word = before.group().lower() if before else ""
    if following[1].islower() or word in _NEVER_LAST:
        return False
    if word.isdigit() and before is not None and not text[start : before.start()].strip():
        return False
    initial = len(word) == 1 and word.isalpha() and before is not None and before.group().isupper()
    return not (initial or (word in _ABBREVIATIONS and not following[1].isupper()))


def _parted(text: str, start: int, end: int, rank: int = 0) -> Iterator[tuple[int, int]]:
    """A sentence, or its clauses where it is too long to be kept as one."""
    if not text[start:end].strip():
        return
    limit = LONG_CHARS if text[start:end].isascii() else LONG_CHARS // 2
    if end - start <= limit * (1, 1.5, 2, 2.5, 2.5)[rank]:
        yield start, end
        return
    if rank == len(_CLAUSE_ENDS):
        yield from ((n, min(n + limit, end)) for n in range(start, end, limit))
        return
    piece = start
    for found in _CLAUSE_ENDS[rank].finditer(text, start, end):
        if found.end() - piece >= limit * 0.6:
            yield from _parted(text, piece, found.end(), rank + 1)
            piece = found.end()
    yield from _parted(text, piece, end, rank + 1)
