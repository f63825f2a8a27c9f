"""Turns blocks into atoms: the pieces that chunks are packed from, each with its size and its price."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from overstory.chunking.blocks import Block, Kind
from overstory.chunking.boundaries import LINE, Cut, code_points, graphemes, grouped, lines, sentences, words
from overstory.chunking.packing import JITTER, jitter
from overstory.ports import Tokenizer

_PRICES = {Kind.HEADING: 0.0, Kind.PARAGRAPH: 0.3, Kind.TABLE: 0.4, Kind.FENCE: 0.4, Kind.ITEM: 0.45}
_PRICE_PER_LEVEL = {Kind.HEADING: 0.02, Kind.PARAGRAPH: 0.02, Kind.ITEM: 0.03}
_LEAD_IN = 0.4
"""Cutting between "as follows:" and what follows."""
_AVOIDED = 5.0
"""Cutting a heading from its text, a table's header from its first row, or a fence before its end."""
_JITTERED_CHARS = 48


class Atom(NamedTuple):
    """A piece of the text; it ends where the next begins."""

    start: int
    tokens: int
    price: float
    """Of beginning a chunk here."""
    context: int
    """Tokens of what is repeated before it when a chunk begins here."""


class Atomizer:
    """Cuts blocks only as finely as the cap asks for."""

    def __init__(self, text: str, tokenizer: Tokenizer, cap: int) -> None:
        self._text = text
        self._count = tokenizer.count
        self._cap = cap
        self._least_bytes = max(4, cap // 4)
        self._contexts: dict[int, str] = {}

    def context(self, block: Block, start: int) -> str:
        """What a chunk that begins at ``start`` within ``block`` repeats: a table's header, a fence's opening line.

        Nothing where it would fill more than half of the chunk.
        """
        if block.kind not in (Kind.TABLE, Kind.FENCE) or start < block.body or start == block.start:
            return ""
        if block.start not in self._contexts:
            repeated = self._text[block.start : block.body]
            self._contexts[block.start] = repeated if self._count(repeated) <= self._cap // 2 else ""
        return self._contexts[block.start]

    def atoms(self, found: list[Block]) -> Iterator[Atom]:
        """The atoms of the blocks that tile the text."""
        yield from _joined(self._apiece(found), self._cap)

    def _apiece(self, found: list[Block]) -> Iterator[Atom]:
        ends = [*(block.start for block in found[1:]), len(self._text)]
        previous: Block | None = None
        for block, end in zip(found, ends, strict=True):
            yield from self._of_block(block, end, self._price(block, previous))
            previous = block

    def _price(self, block: Block, previous: Block | None) -> float:
        if previous is None:
            return 0.0
        if previous.kind is Kind.HEADING:
            return _AVOIDED
        price = _PRICES[block.kind] + _PRICE_PER_LEVEL.get(block.kind, 0.0) * min(block.level, 8)
        if block.kind is not Kind.HEADING:
            behind = self._text[max(previous.start, block.start - 40) : block.start].rstrip()
            price += _LEAD_IN if behind.endswith((":", "：")) else 0.0
        return price

    def _of_block(self, block: Block, end: int, price: float) -> Iterator[Atom]:
        tokens = self._count(self._text[block.start : end])
        unit = block.kind in (Kind.TABLE, Kind.FENCE)
        if tokens <= (self._cap if unit else self._cap // 2):
            yield self._atom(Cut(block.start, price), tokens, 0)
            return
        context = self._count(self.context(block, block.body))
        cuts = self._cuts(block, end)
        pieces = [Cut(block.start, price), *grouped(self._text, block.start, end, cuts, self._least_bytes)]
        for piece, piece_end in _with_ends(pieces, end):
            repeated = context if piece.at >= block.body > block.start else 0
            yield from self._within(piece, piece_end, self._cap - repeated, repeated)

    def _cuts(self, block: Block, end: int) -> Iterable[Cut]:
        if block.kind not in (Kind.TABLE, Kind.FENCE):
            return sentences(self._text, block.start, end)
        fenced = self._text[block.start : end].rstrip() if block.kind is Kind.FENCE else ""
        last = block.start + fenced.rfind("\n") + 1
        return (self._unit_cut(cut, block, last) for cut in lines(self._text, block.start, end))

    def _unit_cut(self, cut: Cut, block: Block, last: int) -> Cut:
        """Inside a table or fence: neither before its first row or line, nor within a row of several lines."""
        if cut.at <= block.body or cut.at == last:
            return Cut(cut.at, _AVOIDED)
        if block.kind is Kind.FENCE:
            return cut
        within = self._text.startswith(("| ", "|\t", " "), cut.at) and self._text[block.start] in "+="
        return Cut(cut.at, LINE + 0.4 if within else LINE - 0.2)

    def _within(self, piece: Cut, end: int, limit: int, context: int) -> Iterator[Atom]:
        """The piece as one atom if it fits, else cut at words, else at graphemes."""
        tokens = self._count(self._text[piece.at : end])
        if tokens <= limit:
            yield self._atom(piece, tokens, context)
            return
        for cut, cut_end in _with_ends([piece, *finer(self._text, piece.at, end, self._least_bytes)], end):
            tokens = self._count(self._text[cut.at : cut_end])
            if tokens <= limit:
                yield self._atom(cut, tokens, context)
            else:
                yield from self._apart(cut, cut_end, context)

    def _apart(self, cut: Cut, end: int, context: int) -> Iterator[Atom]:
        """A grapheme cluster that no chunk can hold, by code points."""
        inside = grouped(self._text, cut.at, end, code_points(cut.at, end), self._least_bytes)
        for each, each_end in _with_ends([cut, *inside], end):
            yield self._atom(each, self._count(self._text[each.at : each_end]), context)

    def _atom(self, cut: Cut, tokens: int, context: int) -> Atom:
        noise = jitter(self._text[cut.at : cut.at + _JITTERED_CHARS]) if cut.at else 0.0
        return Atom(cut.at, tokens, cut.price + noise, context)


def _joined(atoms: Iterator[Atom], cap: int) -> Iterator[Atom]:
    """The atoms without those that are packed with the one before anyway: fewer to weigh against each other.

    These are what follows a heading, and tiny blocks; like ``grouped``, it depends on content and not on count.
    """
    held: Atom | None = None
    for atom in atoms:
        if held is None:
            held = atom
            continue
        together = held.tokens + atom.tokens
        tiny = together <= cap // 16 and atom.tokens % 4 and atom.price > _PRICES[Kind.HEADING] + JITTER * 2
        if held.context == atom.context and (tiny or (atom.price >= _AVOIDED and together <= cap // 2)):
            held = held._replace(tokens=together)
        else:
            yield held
            held = atom
    if held is not None:
        yield held


def finer(text: str, start: int, end: int, most_bytes: int) -> Iterator[Cut]:
    """Cuts at words and, inside words above ``most_bytes``, at graphemes."""
    pieces = [Cut(start, 0.0), *grouped(text, start, end, words(text, start, end), most_bytes)]
    for piece, piece_end in _with_ends(pieces, end):
        if piece.at > start:
            yield piece
        if len(text[piece.at : piece_end].encode("utf-8", "surrogatepass")) > most_bytes:
            yield from grouped(text, piece.at, piece_end, graphemes(text, piece.at, piece_end), most_bytes)


def _with_ends(cuts: list[Cut], end: int) -> Iterator[tuple[Cut, int]]:
    for cut, following in pairwise([*cuts, Cut(end, 0.0)]):
        yield cut, following.at
