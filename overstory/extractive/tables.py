"""Rows of Markdown and reStructuredText tables, each with the header it stands under."""

from __future__ import annotations

import re
from dataclasses import dataclass

Lines = list[tuple[int, str]]

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
    if _SIMPLE.match(lines[number][1]):
        return _simple(lines, number)
    if _GRID.match(lines[number][1]):
        return _grid(lines, number)
    return _markdown(lines, number)


def _cells(line: str) -> tuple[str, ...]:
    parts = _CELL_END.split(line.strip())
    if parts and not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    return tuple(part.strip() for part in parts)


def _markdown(lines: Lines, number: int) -> tuple[list[Row], int]:
    found: list[Row] = []
    header: tuple[str, ...] = ()
    while number < len(lines) and "|" in lines[number][1]:
        start, line = lines[number]
        if is_delimiter(line):
            if found:
                header = found.pop().cells
        else:
            found.append(Row(start, start + len(line.rstrip()), _cells(line), header))
        number += 1
    return found, number


def _grid(lines: Lines, number: int) -> tuple[list[Row], int]:
    found: list[Row] = []
    header: tuple[str, ...] = ()
    waiting: list[tuple[int, str]] = []
    while number < len(lines) and lines[number][1].strip()[:1] in ("+", "|"):
        start, line = lines[number]
        if line.strip().startswith("+"):
            if waiting:
                cells = _joined([_cells(text) for _, text in waiting])
                found.append(Row(waiting[0][0], waiting[-1][0] + len(waiting[-1][1].rstrip()), cells, header))
                waiting = []
            if "=" in line and found:
                header = found.pop().cells
        else:
            waiting.append((start, line))
        number += 1
    return found, number


def _joined(parts: list[tuple[str, ...]]) -> tuple[str, ...]:
    width = max(map(len, parts))
    return tuple(" ".join(p[n] for p in parts if n < len(p) and p[n]) for n in range(width))


def _simple(lines: Lines, number: int) -> tuple[list[Row], int]:
    border = lines[number][1]
    starts = [found.start() for found in re.finditer("=+", border)]
    found: list[Row] = []
    header: tuple[str, ...] = ()
    number += 1
    borders = 1
    while number < len(lines) and borders < 3:
        start, line = lines[number]
        number += 1
        if _SIMPLE.match(line):
            borders += 1
            if borders == 2 and found and number < len(lines) and lines[number][1].strip():
                header = _joined([row.cells for row in found])
                found = []
            elif borders == 2:
                break
        elif line.strip() and not re.fullmatch(r"[\s-]+", line):
            cells = _columns(line, starts)
            if cells[0] or not found:
                found.append(Row(start, start + len(line.rstrip()), cells, header))
            else:
                found[-1] = Row(found[-1].start, start + len(line.rstrip()), _joined([found[-1].cells, cells]), header)
        elif not line.strip() and borders == 2 and not _closes(lines, number):
            break
    return found, number


def _columns(line: str, starts: list[int]) -> tuple[str, ...]:
    """The cells of a line: by the border's columns, or by wide gaps where a text runs over them."""
    if any(line[start - 1 : start].strip() for start in starts[1:]):
        return tuple(re.split(r"\s{2,}|\t", line.strip()))
    return tuple(line[a:b].strip() for a, b in zip(starts, [*starts[1:], len(line)], strict=True))


def _closes(lines: Lines, number: int) -> bool:
    """Whether a simple table goes on behind a blank line: another border follows soon."""
    return any(_SIMPLE.match(line) for _, line in lines[number : number + 60])
