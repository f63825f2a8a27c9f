"""Finds where the blocks of a text begin: headings, fences, tables, list items, paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto


class Kind(Enum):
    """What a block is, as far as it matters to where a text may be cut."""

    HEADING = auto()
    FENCE = auto()
    TABLE = auto()
    ITEM = auto()
    PARAGRAPH = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """A block; it ends, with the blank lines behind it, where the next begins."""

    start: int
    kind: Kind
    level: int = 0
    """Of a heading: 1 is outermost. Of others: columns of indentation."""
    title: str = ""
    body: int = 0
    """Where a table's rows or a fence's content begin: what lies before is repeated when it is cut."""


_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+")
_ITEM = re.compile(r"[ \t]*(?:[-*+•◦‣·]|\(?(?:\d{1,9}|[A-Za-z]|[ivxlc]{2,5})[.)])[ \t]+\S")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?[ \t]+([^\W\d_a-z].{0,78}?[^\s.,;:!?])$")
_WORDY = re.compile(r"[^\W_]")
_UNDERLINES = "=-~^\"'#*+:."
_MARKDOWN_UNDERLINES = {"=": 1, "-": 2}
_PIPE_RULE = re.compile(r"[ \t]*+\|?+[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_GRID_RULE = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*$")
_SIMPLE_RULE = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t]*$")
_FRONT_MATTER_LINES = 200
_TITLE_CHARS = 200


def blocks(text: str) -> list[Block]:
    """The blocks of ``text`` in order, at least one; the first begins at 0."""
    found = _Scanner(text).scan() or [Block(0, Kind.PARAGRAPH)]
    found[0] = replace(found[0], start=0)
    return found


def front_matter_lines(lines: list[str]) -> int:
    """The number of lines of the YAML front matter at the head of a document; 0 if it has none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], start=2):
        if line.rstrip() in ("---", "..."):
            return number
        if line[:1] not in " \t-#\n" and ":" not in line:
            return 0
    return 0


class _Scanner:
    """One pass over the lines; each construct says how many lines it takes."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line) + 1)
        self.end = len(text)
        self.found: list[Block] = []
        self.styles: dict[int, str] = {}
        """Index of a heading in ``found`` -> its style: ``#``, ``1.1``, an underline."""
        self.unclosed: dict[str, int] = {}
        """Constructs that no later line closes, with their least length: looked for once, to stay linear."""
        self.after_blank = True

    def scan(self) -> list[Block]:
        at = self._front_matter()
        while at < len(self.lines):
            line = self.lines[at]
            if not line or line.isspace():
                self.after_blank = True
                at += 1
                continue
            taken = self._construct(at, line)
            if not taken and self.after_blank:
                self._open(at, Kind.PARAGRAPH)
            self.after_blank = taken > 0 and self.found[-1].kind is not Kind.ITEM
            at += taken or 1
        self._settle_headings()
        return self.found

    def _construct(self, at: int, line: str) -> int:
        """Opens the block that begins at line ``at``; the number of lines it takes, 0 if it is running text."""
        first = line.lstrip()[0]
        attempts = _BY_FIRST_CHARACTER.get(first, _OTHERWISE)
        for attempt in attempts:
            if taken := attempt(self, at, line):
                return taken
        return 0

    def _open(self, at: int, kind: Kind, *, level: int | None = None, title: str = "", body: int = 0) -> None:
        line = self.lines[at]
        indent = len(line) - len(line.lstrip()) if level is None else level
        self.found.append(Block(self.offsets[at], kind, indent, title, min(self.offsets[body], self.end)))

    def _front_matter(self) -> int:
        taken = front_matter_lines(self.lines)
        if taken:
            self._open(0, Kind.PARAGRAPH)
        return taken

    def _fence(self, at: int, line: str) -> int:
        match = _FENCE.match(line)
        if not match:
            return 0
        marks = match[2]
        closing = self._closing_fence(at + 1, marks)
        if closing < 0 and len(match[1].expandtabs(4)) > 3:
            return 0
        self._open(at, Kind.FENCE, body=at + 1)
        return (closing if closing > 0 else len(self.lines)) - at

    def _closing_fence(self, at: int, marks: str) -> int:
        if len(marks) >= self.unclosed.get(marks[0], len(marks) + 1):
            return -1
        for number in range(at, len(self.lines)):
            stripped = self.lines[number].strip()
            if stripped.startswith(marks) and not stripped.strip(marks[0]):
                return number + 1
        self.unclosed[marks[0]] = len(marks)
        return -1

    def _atx(self, at: int, line: str) -> int:
        match = _ATX.match(line)
        title = _without_closing_marks(line[match.end() :]) if match else ""
        if not match or not title:
            return 0
        self._heading(at, title, "#", len(match[1]))
        return 1

    def _overlined(self, at: int, line: str) -> int:
        mark = _rule_mark(line)
        if not mark or mark in "~`" or at + 2 >= len(self.lines):
            return 0
        title, under = self.lines[at + 1], self.lines[at + 2]
        if _rule_mark(under) != mark or len(title.rstrip()) > len(under.rstrip()) or not _WORDY.search(title):
            return 0
        self._heading(at, title.strip(), mark * 2, 0)
        return 3

    def _underlined(self, at: int, line: str) -> int:
        if not self.after_blank or at + 1 >= len(self.lines) or len(line) > _TITLE_CHARS:
            return 0
        under = self.lines[at + 1]
        mark = under[:1]
        if not mark or mark not in _UNDERLINES or mark != _rule_mark(under):
            return 0
        if line.startswith("    ") or not _WORDY.search(line):
            return 0
        if mark not in _MARKDOWN_UNDERLINES and len(under.rstrip()) < len(line.rstrip()):
            return 0
        self._heading(at, line.strip(), mark, 0)
        return 2

    def _numbered(self, at: int, line: str) -> int:
        match = _NUMBERED.match(line) if self.after_blank else None
        if not match or not self._stands_alone(at):
            return 0
        self._heading(at, line.strip(), "1.1", match[1].count(".") + 1)
        return 1

    def _stands_alone(self, at: int) -> bool:
        """Whether the line is a numbered heading and no item of a list: no blank-separated item is beside it."""
        following = self.lines[at + 1 : at + 3]
        if following and following[0].strip():
            return False
        last = self.found[-1] if self.found else None
        return not (last and last.kind is Kind.ITEM) and not (len(following) > 1 and _ITEM.match(following[1]))

    def _item(self, at: int, line: str) -> int:
        if not _ITEM.match(line):
            return 0
        self._open(at, Kind.ITEM)
        return 1

    def _pipe_table(self, at: int, line: str) -> int:
        if "|" not in line or at + 1 >= len(self.lines):
            return 0
        rule = self.lines[at + 1]
        if "|" not in rule or not _PIPE_RULE.match(rule):
            return 0
        end = at + 2
        while end < len(self.lines) and "|" in self.lines[end]:
            end += 1
        self._open(at, Kind.TABLE, body=at + 2)
        return end - at

    def _grid_table(self, at: int, line: str) -> int:
        if not _GRID_RULE.match(line):
            return 0
        end = at + 1
        while end < len(self.lines) and self.lines[end].lstrip()[:1] in ("+", "|"):
            end += 1
        header = next((n for n in range(at + 1, end) if "=" in self.lines[n] and _GRID_RULE.match(self.lines[n])), at)
        self._open(at, Kind.TABLE, body=header + 1)
        return end - at

    def _simple_table(self, at: int, line: str) -> int:
        if not _SIMPLE_RULE.match(line) or "=" in self.unclosed:
            return 0
        rules = []
        for number in range(at, len(self.lines)):
            if _SIMPLE_RULE.match(self.lines[number]):
                rules.append(number)
                if len(rules) > 1 and not "".join(self.lines[number + 1 : number + 2]).strip():
                    self._open(at, Kind.TABLE, body=rules[1] + 1 if len(rules) > 2 else at + 1)
                    return number + 1 - at
        self.unclosed["="] = 0
        return 0

    def _heading(self, at: int, title: str, style: str, level: int) -> None:
        self.styles[len(self.found)] = style
        self._open(at, Kind.HEADING, level=level, title=title)

    def _settle_headings(self) -> None:
        """Levels of underlined headings; numbered lines count as headings only where there are no others."""
        used = list(dict.fromkeys(self.styles.values()))
        underlines = [style for style in used if style not in ("#", "1.1")]
        if "#" in used or set(underlines) <= _MARKDOWN_UNDERLINES.keys():
            levels = dict(_MARKDOWN_UNDERLINES)
            levels |= {style: 3 for style in underlines if style not in levels}
        else:  # reStructuredText: the order in which the styles first appear
            levels = {style: level for level, style in enumerate(underlines, start=1)}
        for index, style in self.styles.items():
            if style in levels:
                self.found[index] = replace(self.found[index], level=levels[style])
            elif style == "1.1" and len(used) > 1:
                self.found[index] = replace(self.found[index], kind=Kind.PARAGRAPH, level=0, title="")


def _without_closing_marks(title: str) -> str:
    """The text of a heading without the number signs that may end its line."""
    whole = title.rstrip(" \t")
    bare = whole.rstrip("#")
    return bare.rstrip(" \t") if bare.endswith((" ", "\t")) else whole


def _rule_mark(line: str) -> str:
    """The character of which ``line`` is a rule of at least three, else empty."""
    stripped = line.rstrip()
    mark = stripped[:1]
    return mark if len(stripped) > 2 and not mark.isalnum() and stripped.count(mark) == len(stripped) else ""


_Attempt = Callable[[_Scanner, int, str], int]
_OTHERWISE: tuple[_Attempt, ...] = (_Scanner._pipe_table, _Scanner._underlined)
_LISTED: tuple[_Attempt, ...] = (_Scanner._item, *_OTHERWISE)
_RULED: tuple[_Attempt, ...] = (_Scanner._overlined, *_LISTED)
_BY_FIRST_CHARACTER: dict[str, tuple[_Attempt, ...]] = {
    **dict.fromkeys("`~", (_Scanner._fence, *_OTHERWISE)),
    **dict.fromkeys("-*•◦‣·^\"':.(", _RULED),
    **dict.fromkeys("0123456789", (_Scanner._numbered, *_LISTED)),
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _LISTED),
    "#": (_Scanner._atx, *_RULED),
    "=": (_Scanner._simple_table, *_RULED),
    "+": (_Scanner._grid_table, *_RULED),
}
