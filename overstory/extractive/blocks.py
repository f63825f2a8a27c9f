"""A text as blocks: headings, paragraphs, list items, fields and table rows; code, comments and navigation left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from overstory.extractive.tables import Row, is_border, is_delimiter, is_row, rows


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
    r"(\s*)\.\.(?:$|\s+(?:\|[^|]+\|\s+)?(?:(?P<name>[\w:-]+?)::\s*(?P<rest>.*)|(?P<note>\[[^\]]+\]\s+.*)|(?P<other>.*))$)"
)
_SKIPPED_DIRECTIVES = frozenset(
    "code code-block sourcecode parsed-literal highlight literalinclude include math image figure toctree kernel-doc kernel-figure kernel-render raw"
    " contents index graphviz doctest testcode plantuml role default-role module currentmodule automodule autoclass autofunction tabularcolumns meta"
    " sectnum section-numbering target-notes replace unicode date cssclass only flat-table-options".split()
)
_LINK_TARGET = re.compile(
    r"\s*\[[^\]]+\]:\s+\S+|\s*\[!\w+\]\s*$|\s*\[TOC\]|\s*<!--.*-->\s*$|\s*\$(?:Id|Revision|Date).*\$\s*$"
)
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*$", re.MULTILINE)
_CODE_LINE = re.compile(
    r"\s*(?:#\s*(?:include|define|if|ifdef|ifndef|endif|!)\b|(?:def|class|import|return|struct|static|void|int|char|const|public|private|typedef)\s"
    r"|from\s+[\w.]+\s+import\b|if\s*\(|for\s*\(|while\s*\(|[$%#>]\s+\w|>>>|\.\.\.\s|[\w.\[\]>-]+\s*(?:[-+*/|&]?=|<-|:=)\s*\S+.*$|</?\w+[^>]*>\s*$|[{}\[\]()]+[;,]?\s*$|@\w+|[\w-]+\s*\{\s*$)"
    r"|.*\w\(.*\);\s*$|.*[=\[].*;\s*$|\s*\S+(?:\s\S+){0,3}[;{}]\s*$|.*\)\s*[:{]\s*$"
)
_NUMERIC_PROSE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]{3})(?!.*//)[^\"'`=;{}\[\]<>|\\_$]+")


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
    levels: list[str] = field(default_factory=list)

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
            self.blocks.append(Block(BlockKind.TITLE, title.start(2), title.end(2)))
        return found.end()

    def _lines(self, position: int) -> Iterator[tuple[int, str]]:
        for line in self.source[position : self.limit].splitlines(keepends=True):
            yield position, line
            position += len(line)

    def _line(self, lines: list[tuple[int, str]], number: int) -> int:
        start, line = lines[number]
        bare = line.strip()
        if not bare:
            self._flush()
            return number + 1
        indent = len(line) - len(line.lstrip())
        if self._inside_skipped(indent):
            self._stated_in_literal(start, line)
            return number + 1
        for handler in _HANDLERS:
            after = handler(self, lines, number, indent, bare)
            if after is not None:
                return after
        self._text(start, line, indent)
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

    def _stated_in_literal(self, start: int, line: str) -> None:
        """Keep a line of a literal block that states something and is no code: a schedule, an example of a version."""
        bare = line.strip()
        if self.literal >= 0 and _NUMERIC_PROSE.fullmatch(bare):
            begin = start + line.index(bare)
            self.blocks.append(Block(BlockKind.ITEM, begin, begin + len(bare)))

    def _text(self, start: int, line: str, indent: int) -> None:
        quote = _QUOTE.match(line)
        begin = start + (quote.end() if quote else indent)
        item = _ITEM.match(line, quote.end() if quote else 0)
        is_field = bool(_FIELD.match(line, indent))
        if item:
            self._flush()
            self._begin(BlockKind.ITEM, start + item.end(), indent)
        elif self.first < 0 or (is_field and self.kind is BlockKind.FIELD):
            self._flush()
            self._begin(BlockKind.FIELD if is_field else BlockKind.PARAGRAPH, begin, indent)
        self.last = start + len(line.rstrip())
        self.lines += 1

    def _begin(self, kind: BlockKind, start: int, indent: int) -> None:
        self.kind, self.first, self.indent, self.lines = kind, start, indent, 0

    def _flush(self) -> None:
        if self.first < 0:
            return
        text = self.source[self.first : self.last]
        if text.endswith("::"):
            self.literal = self.indent
        if not _is_code(text, self.lines):
            self.blocks.append(Block(self.kind, self.first, self.last))
        self.first = -1

    def fence(self, lines: list[tuple[int, str]], number: int, indent: int, bare: str) -> int | None:
        found = _FENCE.match(lines[number][1])
        if not found:
            return None
        self._flush()
        mark = found[1]
        after = number + 1
        while after < len(lines) and not lines[after][1].strip().startswith(mark):
            after += 1
        if after < len(lines):
            return after + 1
        return next((n for n in range(number + 1, len(lines)) if not lines[n][1].strip()), len(lines))

    def heading(self, lines: list[tuple[int, str]], number: int, indent: int, bare: str) -> int | None:
        start, line = lines[number]
        atx = _ATX.match(bare)
        if atx:
            self._flush()
            begin = start + line.index(bare) + atx.start(2)
            self._add_heading(len(atx[1]) == 1, begin, begin + len(atx[2]))
            return number + 1
        if not _UNDERLINE.match(line) or is_border(bare):
            return None
        if self.first >= 0 and self.lines == 1 and self.last - self.first <= len(bare) + 4:
            first, last = self.first, self.last
            self.first = -1
            self._add_heading(not any(b.kind in (BlockKind.TITLE, BlockKind.HEADING) for b in self.blocks), first, last)
        else:
            self._flush()
        return number + 1

    def _add_heading(self, top: bool, start: int, end: int) -> None:
        first = not any(block.kind is BlockKind.TITLE for block in self.blocks)
        self.blocks.append(Block(BlockKind.TITLE if top and first else BlockKind.HEADING, start, end))

    def table(self, lines: list[tuple[int, str]], number: int, indent: int, bare: str) -> int | None:
        nxt = lines[number + 1][1] if number + 1 < len(lines) else ""
        if not (is_border(bare) or is_row(bare) or ("|" in bare and is_delimiter(nxt))):
            return None
        found, after = rows(lines, number)
        if not found:
            return None
        self._flush()
        self.blocks += [Block(BlockKind.ROW, row.start, row.end, row) for row in found]
        return after

    def directive(self, lines: list[tuple[int, str]], number: int, indent: int, bare: str) -> int | None:
        if not bare.startswith(".."):
            return None
        start, line = lines[number]
        found = _DIRECTIVE.match(line)
        if not found:
            return None
        self._flush()
        if found["name"] and found["name"] not in _SKIPPED_DIRECTIVES and "|" not in bare[:4]:
            if found["rest"].strip():
                self._begin(BlockKind.PARAGRAPH, start + found.start("rest"), indent)
                self.last, self.lines = start + len(line.rstrip()), 1
            return number + 1
        if found["note"]:
            self._begin(BlockKind.ITEM, start + line.index("]", found.start("note")) + 1, indent)
            self.last, self.lines = start + len(line.rstrip()), 1
            return number + 1
        self.skipped = indent
        return number + 1

    def dropped(self, lines: list[tuple[int, str]], number: int, indent: int, bare: str) -> int | None:
        if bare.startswith(">>> "):
            self._flush()
            after = number + 1
            while after < len(lines) and lines[after][1].strip():
                after += 1
            return after
        if bare[0] in "[<$>" and _LINK_TARGET.match(_QUOTE.sub("", lines[number][1], count=1)):
            return number + 1
        return None


_HANDLERS = (_Parser.fence, _Parser.directive, _Parser.table, _Parser.heading, _Parser.dropped)


def _is_code(text: str, lines: int) -> bool:
    """Whether a block reads like code or a drawing: most lines do, or letters are few."""
    letters = sum(map(str.isalpha, text[:2000]))
    if letters * 2 < len(re.sub(r"\s+", "", text[:2000])) and not any(map(str.isdigit, text)):
        return True
    code = sum(bool(_CODE_LINE.match(line)) for line in text.splitlines())
    return code * 2 >= max(lines, 1) and (lines > 1 or text.rstrip()[-1:] in ";{}")


def blocks(source: str, start: int = 0, end: int | None = None) -> list[Block]:
    """The blocks of ``source[start:end]`` in order."""
    return _Parser(source, start, len(source) if end is None else end).run()
