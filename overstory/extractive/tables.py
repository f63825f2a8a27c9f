"""Rows of Markdown and reStructuredText tables, each with the header it stands under."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Line(NamedTuple):
    """A line of the source with its offset."""

    start: int
    text: str
    """With its line end."""

    @property
    def bare(self) -> str:
        """The text without the spaces around it."""
        return self.text.strip()

    @property
    def indent(self) -> int:
        """How many spaces stand before the text."""
        return len(self.text) - len(self.text.lstrip())

    @property
    def end(self) -> int:
        """Where the text ends in the source, without the spaces behind it."""
        return self.start + len(self.text.rstrip())


Lines = Sequence[Line]

_DELIMITER = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*$|\s*\|\s*:?-{2,}:?\s*\|\s*$")
_GRID = re.compile(r"\s*\+(?:[-=]+\+)+\s*$")
_SIMPLE = re.compile(r"\s*={2,}(?:[ \t]+={2,})+\s*$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells and the header's, both as written."""

    start: int
    end: int
    cells: tuple[str, ...]
    header: tuple[str, ...]


def is_border(line: str) -> bool:
    """Whether a line is the frame of a reStructuredText table."""
    return bool(_GRID.match(line) or _SIMPLE.match(line))


def is_delimiter(line: str) -> bool:
    """Whether a line parts the header of a Markdown table from its body."""
    return bool(_DELIMITER.match(line))


def is_row(line: str) -> bool:
    """Whether a line is a row between pipes."""
    return bool(_ROW.match(line)) and line.count("|") > 2


def rows(lines: Lines, number: int) -> tuple[list[Row], int]:
    """The rows of the table that begins at line ``number``, and the number of the line after it."""
    if _SIMPLE.match(lines[number].text):
        return _simple(lines, number)
    if _GRID.match(lines[number].text):
        return _grid(lines, number)
    return _markdown(lines, number)


def _cells(line: str) -> tuple[str, ...]:
    parts = _CELL_END.split(line.strip())
    if parts and not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    return tuple(part.strip() for part in parts)


def _row(lines: Lines, cells: tuple[str, ...], header: tuple[str, ...]) -> Row:
    return Row(lines[0].start + lines[0].indent, lines[-1].end, cells, header)


def _markdown(lines: Lines, number: int) -> tuple[list[Row], int]:
    found: list[Row] = []
    header: tuple[str, ...] = ()
    while number < len(lines) and "|" in lines[number].text:
        line = lines[number]
        if not is_delimiter(line.text):
            found.append(_row([line], _cells(line.text), header))
        elif found:
            header = found.pop().cells
        number += 1
    return found, number


def _grid(lines: Lines, number: int) -> tuple[list[Row], int]:
    found: list[Row] = []
    header: tuple[str, ...] = ()
    waiting: list[Line] = []
    while number < len(lines) and lines[number].bare[:1] in ("+", "|"):
        line = lines[number]
        number += 1
        if line.bare.startswith("|"):
            waiting.append(line)
            continue
        if waiting:
            found.append(_row(waiting, _joined([_cells(each.text) for each in waiting]), header))
            waiting = []
        if "=" in line.text and found:
            header = found.pop().cells
    return found, number


def _joined(parts: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Cells that run over several lines, as one row."""
    width = max(map(len, parts))
    return tuple(" ".join(cells[n] for cells in parts if n < len(cells) and cells[n]) for n in range(width))


def _simple(lines: Lines, number: int) -> tuple[list[Row], int]:
    starts = [found.start() for found in re.finditer("=+", lines[number].text)]
    stretches, after = _stretches(lines, number + 1)
    if not stretches:
        return [], number + 1
    *above, body = stretches
    header = _joined([_columns(line.text, starts) for line in above[0]]) if above and above[0] else ()
    found: list[Row] = []
    for line in body:
        cells = _columns(line.text, starts)
        if cells[0] or not found:
            found.append(_row([line], cells, header))
        else:
            found[-1] = Row(found[-1].start, line.end, _joined([found[-1].cells, cells]), header)
    return found, after


def _stretches(lines: Lines, number: int) -> tuple[list[list[Line]], int]:
    """The lines between the borders of a table, one or two stretches, and the number of the line after it.

    A border with a blank line behind it, or the end, closes the table.
    """
    found: list[list[Line]] = [[]]
    while number < len(lines):
        line = lines[number]
        number += 1
        if _SIMPLE.match(line.text):
            if len(found) == 2 or number == len(lines) or not lines[number].bare:
                return found, number
            found.append([])
        elif line.bare and line.bare.strip("- "):
            found[-1].append(line)
        elif len(found) == 1 and not line.bare:
            break
    return [], number


def _columns(line: str, starts: list[int]) -> tuple[str, ...]:
    """The cells of a line: by the border's columns, or by wide gaps where a text runs over them."""
    if any(line[start - 1 : start].strip() for start in starts[1:]):
        return tuple(re.split(r"\s{2,}|\t", line.strip()))
    return tuple(line[a:b].strip() for a, b in zip(starts, [*starts[1:], len(line)], strict=True))
