"""Cuts a text into chunks that tile it, none larger than the cap by the real tokenizer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from overstory.chunking.atoms import Atom, Atomizer
from overstory.chunking.blocks import Block, Kind, blocks
from overstory.chunking.boundaries import sentences, words
from overstory.chunking.packing import pack
from overstory.chunking.titles import MOST_TITLE_CHARS, plain
from overstory.ports import Tokenizer

LEAST_CAP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a text: ``text[start:end]``."""

    start: int
    end: int
    context: str
    """What is repeated before it for readers: the header of a cut table, the opening line of a cut fence."""
    headings: tuple[str, ...]
    """The headings above its start, outermost first."""
    tokens: int
    """Of context and text together."""
    heading: str = ""
    """The heading with which it begins; empty if it begins elsewhere."""


def chunk(text: str, tokenizer: Tokenizer, *, cap_tokens: int = 256, overlap_tokens: int = 0) -> list[Chunk]:
    """The chunks of ``text``, in order; none for the empty text. Deterministic, near-linear in time.

    Cuts fall, cheapest first, at headings, paragraphs, tables and fences, list items, table rows, sentences,
    lines, clauses, words, graphemes. Without overlap the slices tile the text; with it, each chunk but the
    first begins up to ``overlap_tokens`` earlier, at a sentence or word.

    Args:
        text: Any text; offsets refer to it as it is.
        tokenizer: Counts what ``cap_tokens`` limits.
        cap_tokens: Largest size of a chunk with its context, at least 16.
        overlap_tokens: Tokens of the preceding chunk to repeat at most, at most half of ``cap_tokens``.

    Raises:
        ValueError: ``cap_tokens`` or ``overlap_tokens`` is out of range.
    """
    if cap_tokens < LEAST_CAP_TOKENS or not 0 <= overlap_tokens * 2 <= cap_tokens:
        raise ValueError(f"cap_tokens={cap_tokens} or overlap_tokens={overlap_tokens} is out of range")
    return list(_Chunker(text, tokenizer, cap_tokens, overlap_tokens).chunks()) if text else []


class _Chunker:
    def __init__(self, text: str, tokenizer: Tokenizer, cap: int, overlap: int) -> None:
        self.text = text
        self.count = tokenizer.count
        self.cap = cap
        self.overlap = overlap
        self.blocks = blocks(text)
        self.starts = [block.start for block in self.blocks]
        self.stacks = _heading_stacks(self.blocks)
        self.atomizer = Atomizer(text, tokenizer, cap - overlap)

    def chunks(self) -> Iterator[Chunk]:
        atoms = list(self.atomizer.atoms(self.blocks))
        previous = 0
        for start, end, tokens in self._fitted(atoms, len(self.text), self.cap - self.overlap):
            reached = self._reached_back(previous, start, end) if self.overlap and start else start
            yield self._chunk(reached, end, tokens if reached == start else None)
            previous = start

    def _fitted(self, atoms: Sequence[Atom], end: int, budget: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, tokens) of the runs, verified: counts of pieces do not add up exactly to that of the whole."""
        limit = self.cap - self.overlap
        runs = pack([a.tokens for a in atoms], [a.price for a in atoms], [a.context for a in atoms], budget)
        for first, last in zip(runs, [*runs[1:], len(atoms)], strict=True):
            start = atoms[first].start
            stop = atoms[last].start if last < len(atoms) else end
            tokens = self.count(self._context(start) + self.text[start:stop])
            if tokens > limit and last - first > 1:
                estimate = sum(a.tokens for a in atoms[first:last])
                yield from self._fitted(atoms[first:last], stop, max(1, min(budget, estimate) - (tokens - limit)))
            else:
                yield start, stop, tokens

    def _reached_back(self, previous: int, start: int, end: int) -> int:
        """The earliest sentence, else word, from which the chunk may repeat what precedes it."""
        earliest = max(previous, start - self.overlap * 16)
        for found in (sentences, words):
            places = [cut.at for cut in found(self.text, earliest, start)]
            fitting = bisect_right(places, False, key=lambda at: self._may_reach(at, start, end))
            if fitting < len(places):
                return places[fitting]
        return start

    def _may_reach(self, at: int, start: int, end: int) -> bool:
        if self.count(self.text[at:start]) > self.overlap:
            return False
        return self.count(self._context(at) + self.text[at:end]) <= self.cap

    def _chunk(self, start: int, end: int, tokens: int | None) -> Chunk:
        index = self._block_at(start)
        block = self.blocks[index]
        heading = _title(block) if block.kind is Kind.HEADING and start == block.start else ""
        context = self._context(start)
        if tokens is None:
            tokens = self.count(context + self.text[start:end])
        if tokens > self.cap:
            context, tokens = "", self.count(self.text[start:end])
        above = (
            self.stacks[index] if heading or block.kind is not Kind.HEADING else (*self.stacks[index], _title(block))
        )
        return Chunk(start, end, context, above, tokens, heading)

    def _context(self, start: int) -> str:
        return self.atomizer.context(self.blocks[self._block_at(start)], start)

    def _block_at(self, start: int) -> int:
        return bisect_right(self.starts, start) - 1


def _title(block: Block) -> str:
    return plain(block.title) or block.title[:MOST_TITLE_CHARS]


def _heading_stacks(found: Sequence[Block]) -> list[tuple[str, ...]]:
    """The headings above each block, outermost first; of a heading, those that contain it."""
    stack: list[tuple[int, str]] = []
    titles: tuple[str, ...] = ()
    stacks = []
    for block in found:
        if block.kind is Kind.HEADING:
            stack = [(level, title) for level, title in stack if level < block.level]
            stacks.append(tuple(title for _, title in stack))
            stack.append((block.level, _title(block)))
            titles = tuple(title for _, title in stack)
        else:
            stacks.append(titles)
    return stacks
