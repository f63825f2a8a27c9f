"""A text as blocks: headings, paragraphs, list items, fields and table rows; code and comments are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from overstory.extractive.code import is_code, states_a_number
from overstory.extractive.tables import Line, Lines, Row, is_border, is_delimiter, is_row, rows
from overstory.facts.vocabulary import spaced


class BlockKind(StrEnum):
    """What a block is."""

    TITLE = "title"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    FIELD = "field"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the source: ``source[start:end]``, markers of lists and headings left out."""

    kind: BlockKind
    start: int
    end: int
    row: Row | None = None


_FENCE = re.compile(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")
_ATX = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"\s?([=\-~^\"'*+#`.:_])\1{2,}\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•·◦]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|#\.)\s+(?=\S)")
_FIELD = re.compile(
    r"(?:title|description):[ \t]+\S|:?[A-Z][A-Za-z][\w /()-]{0,28}:[ \t]+\S|[A-Z][A-Za-z][\w-]{0,28}:\s*$"
)
_DIRECTIVE = re.compile(
    r"(\s*)\.\.(?:$|\s+(?:\|[^|]+\|\s+)?(?:(?P<name>[\w:-]+?)::\s*(?P<rest>.*)|(?P<note>\[[^\]]+\]\s+.*)"
    r"|(?P<other>.*))$)"
)
_SKIPPED_DIRECTIVES = spaced(
    "code code-block sourcecode parsed-literal highlight literalinclude include math image figure toctree raw"
    " kernel-doc kernel-figure kernel-render"
    " contents index graphviz doctest testcode plantuml role default-role module currentmodule automodule"
    " autoclass autofunction tabularcolumns meta"
    " sectnum section-numbering target-notes replace unicode date cssclass only flat-table-options"
)
_LINK_TARGET = re.compile(
    r"\s*\[[^\]]+\]:\s+\S+|\s*\[!\w+\]\s*$|\s*\[TOC\]|\s*<!--.*-->\s*$|\s*\$(?:Id|Revision|Date).*\$\s*$"
)
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*$", re.MULTILINE)


@dataclass(slots=True)
class _Parser:
    """One pass over the lines; a block in progress is ``first``..``last`` offsets."""

    source: str
    base: int
    limit: int
    blocks: list[Block] = field(default_factory=list)
    kind: BlockKind = BlockKind.PARAGRAPH
    first: int = -1
    last: int = -1
    lines: int = 0
    indent: int = 0
    literal: int = -1
    """Lines indented deeper than this are code, until one is not; -1 outside."""
    skipped: int = -1
    """Likewise for the body of a directive that is not read."""
    titled: bool = False
    headed: bool = False

    def run(self) -> list[Block]:
        position = self._front_matter()
        lines = list(self._lines(position))
        number = 0
        while number < len(lines):
            number = self._line(lines, number)
        self._flush()
        return self.blocks

    def _front_matter(self) -> int:
        found = _FRONT_MATTER.match(self.source, self.base, self.limit)
        if not found:
            return self.base
        title = _FRONT_TITLE.search(self.source, found.start(1), found.end(1))
        if title:
            self._add_heading(title.start(2), title.end(2), top=True)
        return found.end()

    def _lines(self, position: int) -> Iterator[Line]:
        for line in self.source[position : self.limit].splitlines(keepends=True):
            yield Line(position, line)
            position += len(line)

    def _line(self, lines: Lines, number: int) -> int:
        line = lines[number]
        if not line.bare:
            self._flush()
            return number + 1
        if self._inside_skipped(line.indent):
            self._stated_in_literal(line)
            return number + 1
        for handler in _HANDLERS:
            after = handler(self, lines, number)
            if after is not None:
                return after
        self._text(line)
        return number + 1

    def _inside_skipped(self, indent: int) -> bool:
        if self.skipped >= 0:
            if indent > self.skipped:
                return True
            self.skipped = -1
        if self.literal >= 0 and self.first < 0:
            if indent > self.literal:
                return True
            self.literal = -1
        return False

    def _stated_in_literal(self, line: Line) -> None:
        if self.skipped < 0 and states_a_number(line.bare):
            begin = line.start + line.indent
            self.blocks.append(Block(BlockKind.ITEM, begin, begin + len(line.bare)))

    def _text(self, line: Line) -> None:
        quote = _QUOTE.match(line.text)
        begin = quote.end() if quote else line.indent
        item = _ITEM.match(line.text, quote.end() if quote else 0)
        is_field = bool(_FIELD.match(line.text, line.indent))
        if item:
            self._flush()
            self._begin(BlockKind.ITEM, line.start + item.end(), line.indent)
        elif self.first < 0 or (is_field and self.kind is BlockKind.FIELD):
            self._flush()
            self._begin(BlockKind.FIELD if is_field else BlockKind.PARAGRAPH, line.start + begin, line.indent)
        self.last = line.end
        self.lines += 1

    def _begin(self, kind: BlockKind, start: int, indent: int) -> None:
        self.kind, self.first, self.indent, self.lines = kind, start, indent, 0

    def _flush(self) -> None:
        if self.first < 0:
            return
        text = self.source[self.first : self.last]
        if text.endswith("::"):
            self.literal = self.indent
        if not is_code(text, self.lines):
            self.blocks.append(Block(self.kind, self.first, self.last))
        self.first = -1

    def fence(self, lines: Lines, number: int) -> int | None:
        """Leave out a fenced block; one that is never closed ends at a blank line."""
        found = _FENCE.match(lines[number].text)
        if not found:
            return None
        self._flush()
        mark = found[1]
        rest = range(number + 1, len(lines))
        close = next((n + 1 for n in rest if lines[n].bare.startswith(mark)), None)
        return close or next((n for n in rest if not lines[n].bare), len(lines))

    def heading(self, lines: Lines, number: int) -> int | None:
        """Headings marked by # or an underline; other rules end a paragraph."""
        line = lines[number]
        atx = _ATX.match(line.bare)
        if atx:
            self._flush()
            begin = line.start + line.indent + atx.start(2)
            self._add_heading(begin, begin + len(atx[2]), top=len(atx[1]) == 1)
            return number + 1
        if not _UNDERLINE.match(line.text) or is_border(line.bare):
            return None
        if self.first >= 0 and self.lines == 1 and self.last - self.first <= len(line.bare) + 4:
            first, self.first = self.first, -1
            self._add_heading(first, self.last, top=not self.headed)
        else:
            self._flush()
        return number + 1

    def _add_heading(self, start: int, end: int, *, top: bool) -> None:
        title = top and not self.titled
        self.titled, self.headed = self.titled or title, True
        self.blocks.append(Block(BlockKind.TITLE if title else BlockKind.HEADING, start, end))

    def table(self, lines: Lines, number: int) -> int | None:
        """The rows of a table."""
        bare = lines[number].bare
        following = lines[number + 1].text if number + 1 < len(lines) else ""
        if not (is_border(bare) or is_row(bare) or ("|" in bare and is_delimiter(following))):
            return None
        found, after = rows(lines, number)
        if not found and not is_border(bare):
            return None
        self._flush()
        self.blocks += [Block(BlockKind.ROW, row.start, row.end, row) for row in found]
        return after

    def directive(self, lines: Lines, number: int) -> int | None:
        """Read what reStructuredText's directives and footnotes hold; leave out code, pictures and comments."""
        line = lines[number]
        found = _DIRECTIVE.match(line.text) if line.bare.startswith("..") else None
        if not found:
            return None
        self._flush()
        read = found["name"] and found["name"] not in _SKIPPED_DIRECTIVES and "|" not in line.bare[:4]
        if read and found["rest"].strip():
            self._one_line(BlockKind.PARAGRAPH, line, found.start("rest"))
        elif found["note"]:
            self._one_line(BlockKind.ITEM, line, line.text.index("]", found.start("note")) + 1)
        elif not read:
            self.skipped = line.indent
        return number + 1

    def _one_line(self, kind: BlockKind, line: Line, offset: int) -> None:
        self._begin(kind, line.start + offset, line.indent)
        self.last, self.lines = line.end, 1

    def dropped(self, lines: Lines, number: int) -> int | None:
        """Leave out sessions of an interpreter, link targets and markers."""
        line = lines[number]
        if line.bare.startswith(">>> "):
            self._flush()
            return next((n for n in range(number + 1, len(lines)) if not lines[n].bare), len(lines))
        if line.bare[0] in "[<$>" and _LINK_TARGET.match(_QUOTE.sub("", line.text, count=1)):
            return number + 1
        return None


_HANDLERS = (_Parser.fence, _Parser.directive, _Parser.table, _Parser.heading, _Parser.dropped)


def blocks(source: str, start: int = 0, end: int | None = None) -> list[Block]:
    """The blocks of ``source[start:end]`` in order."""
    return _Parser(source, start, len(source) if end is None else end).run()
