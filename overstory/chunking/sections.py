"""Groups the chunks of a long document into sections of a few thousand tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overstory.chunking.chunks import Chunk
from overstory.chunking.packing import jitter, pack

_NO_HEADING = 1.5
"""Price of a section that begins within another's text: more than one that begins at the deepest heading."""
_PER_LEVEL = 0.15


@dataclass(frozen=True, slots=True)
class Section:
    """A contiguous run of chunks."""

    first: int
    """Index of its first chunk."""
    last: int
    """Index of its last chunk, itself included."""
    heading: str
    """The heading with which it begins, else the innermost above it; empty without any."""


def sections(chunks: Sequence[Chunk], *, max_tokens: int = 4000) -> list[Section]:
    """The sections of a document, in order, together all of its chunks; none for a short document.

    A section begins at a heading where one is near, at the outermost there is; the sizes are balanced otherwise.

    Args:
        chunks: The chunks of the whole document.
        max_tokens: Largest size of a section (a larger chunk is a section of its own); a document of at most so many
            tokens has no sections.
    """
    if sum(each.tokens for each in chunks) <= max_tokens:
        return []
    prices = [_price(each) for each in chunks]
    firsts = pack([max(1, each.tokens) for each in chunks], prices, [0] * len(chunks), max_tokens)
    lasts = [first - 1 for first in firsts[1:]] + [len(chunks) - 1]
    return [Section(first, last, _heading(chunks[first])) for first, last in zip(firsts, lasts, strict=True)]


def _price(each: Chunk) -> float:
    if each.heading:
        return _PER_LEVEL * min(len(each.headings), 6) + jitter(each.heading)
    # The length stands for the content: it stays with a chunk when others are inserted before it.
    return _NO_HEADING + jitter(f"{each.end - each.start} {each.tokens}")


def _heading(each: Chunk) -> str:
    return each.heading or (each.headings[-1] if each.headings else "")
