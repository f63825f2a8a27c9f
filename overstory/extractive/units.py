"""The statements of a source that a summary may be made of: sentences, list items, fields and table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from overstory import facts
from overstory.extractive.blocks import Block, BlockKind, blocks
from overstory.extractive.markup import clean
from overstory.extractive.sentences import sentences
from overstory.extractive.tables import Row


@dataclass(frozen=True, slots=True)
class Label:
    """A title, a heading or the opening words that a paragraph stands under: ``source[start:end]``."""

    text: str
    """Without markup; empty where there is none."""
    start: int = 0
    end: int = 0


NONE = Label("")


@dataclass(frozen=True, slots=True)
class Section:
    """What a statement stands under."""

    part: int
    """Index of the text it comes from, among the texts that are to be told apart."""
    ordinal: int
    heading: Label
    """The nearest heading."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One statement: ``source[start:end]``, readable on its own."""

    start: int
    end: int
    text: str
    section: Section
    lead: Label
    """What opens its paragraph, as in **1 May 2025.** or Purpose: it is told once before the first of its"
    " statements."""
    kind: BlockKind
    place: int
    """Position within its part, from 0."""
    opens_list: bool = False
    """Whether it ends in a colon: what it announces is told elsewhere."""


@dataclass(frozen=True, slots=True)
class Material:
    """A source as the statements in it."""

    titles: tuple[Label, ...]
    """One a part; empty where a part has none."""
    units: tuple[Unit, ...]
    outline: tuple[str, ...]
    """Titles and headings in order, each once: all that an index page has."""


_RUN_IN = re.compile(r"([A-Z0-9\u00c0-\uffff][^.:!?;,\n|]{2,80}?(?:\([^()\n]{1,30}\))?): +(?=\S)")
_BOLD = re.compile(r"(?:\*\*|__)([^*_\n]{2,80}?)(?:[.:?—–-] ?(?:\*\*|__)|(?:\*\*|__) ?[.:—–])\s+(?=\S)")
_MACHINE_FIELD = re.compile(
    r":?(?:Author|Authors|Author-Email|BDFL-Delegate|PEP-Delegate|Sponsor|Discussions-To|Content-Type|Version:"
    r" \$|Last-Modified|Message-ID|Email|URL|Home-Page"
    r"|Maintainer|Contact|Translator|Reply-To|layout|permalink|redirect_from|slug)\b",
    re.IGNORECASE,
)
_MACHINE_VALUE = re.compile(r"\$(?:Date|Revision|Id)|:\s+\S*/\S+$")
_TITLE_FIELD = re.compile(r":?(?:Title|Subject|タイトル|标题):\s*", re.IGNORECASE)
_BOILERPLATE = re.compile(
    r"SPDX-License-Identifier|^%YAML|^\$(?:id|schema):|(?:is|are|been|hereby) placed (?:in|into) the public"
    r" domain|CC0-1\.0-Universal|Permission is (?:hereby )?granted"
    r"|^(?:Copyright|©|\(c\)) ?(?:\(c\)|©)? ?\d{4}|All rights reserved|[Ll]icensed under the (?:Apache|MIT|GNU"
    r"|GPL|BSD|Creative)|GNU Free Documentation License"
    r"|terms of the GNU General Public License|THE SOFTWARE IS PROVIDED|WITHOUT (?:ANY )?WARRANT|Local"
    r" Variables:|mode: indented-text|coding: utf-8"
    r"|^(?:Table of [Cc]ontents|Contents|On this page|Back to top|Skip to (?:main )?content|Edit this page"
    r"|Previous|Next|Home|Last-Modified)\b.{0,12}$"
)
_LINKS_ONLY = re.compile(
    r"[\s,;|•·>/-]*(?:!?\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])|`[^`<]*<[^>]+>`_+|<?(?:https?"
    r"|ftp)://\S+>?)(?:[\s,;|•·>/.-]*(?:!?\[[^\]]*\]\([^)]*\)|<?https?://\S+>?))*[\s,;|•·.-]*"
)
_EDGES = re.compile(r"^[*_]{1,3}(?=[A-Z\"“(])|(?<=[.!?:])[*_]{1,3}$")
"""Emphasis that began or ends in another sentence."""
_LINKS_CHARS = 2_000
"""Navigation is short; a longer block is read."""
_WORDS = re.compile(r"[^\W\d_]")
_LAST_LETTER = re.compile(r"[^\s\"'”’»)\]][\s\"'”’»)\]]*$")


def material(parts: list[tuple[int, int]], source: str) -> Material:
    """The statements of ``source``, whose parts are told apart by their offsets."""
    titles: list[Label] = []
    units: list[Unit] = []
    seen: set[str] = set()
    outline: dict[str, None] = {}
    for number, (start, end) in enumerate(parts):
        reader = _Reader(source, number, seen)
        units += reader.read(blocks(source, start, end))
        titles.append(reader.title)
        outline |= dict.fromkeys(reader.outline)
    return Material(tuple(titles), tuple(units), tuple(outline))


class _Reader:
    """Statements of one part."""

    def __init__(self, source: str, part: int, seen: set[str]) -> None:
        self.source = source
        self.part = part
        self.seen = seen
        self.title = NONE
        self.section = Section(part, 0, NONE)
        self.place = 0
        self.outline: list[str] = []

    def read(self, found: list[Block]) -> Iterator[Unit]:
        for block in found:
            if block.kind in (BlockKind.TITLE, BlockKind.HEADING):
                self._head(block)
            elif block.row is not None:
                yield from self._unit(block.start, block.end, statement(block.row), NONE, block.kind)
            else:
                yield from self._sentences(block)

    def _label(self, start: int, end: int) -> Label:
        return Label(_NUMBERING.sub("", clean(self.source[start:end]).strip(" :.")), start, end)

    def _head(self, block: Block) -> None:
        label = self._label(block.start, block.end)
        if _BOILERPLATE.search(label.text):
            return
        self.outline.append(label.text)
        if block.kind is BlockKind.TITLE and not self.title.text:
            self.title = label
        else:
            self.section = Section(self.part, self.section.ordinal + 1, label)

    def _sentences(self, block: Block) -> Iterator[Unit]:
        text = self.source[block.start : block.end]
        if (len(text) < _LINKS_CHARS and _LINKS_ONLY.fullmatch(text)) or (
            block.kind is BlockKind.FIELD and self._field(block, text)
        ):
            return
        offset, lead = self._run_in(block, text)
        begin = block.start + offset
        for start, end in sentences(text[offset:]):
            yield from self._unit(
                begin + start, begin + end, clean(text[offset + start : offset + end]), lead, block.kind
            )

    def _field(self, block: Block, text: str) -> bool:
        title = _TITLE_FIELD.match(text)
        if title and not self.title.text and self.place < 3:
            self.title = self._label(block.start + title.end(), block.end)
            return True
        return bool(_MACHINE_FIELD.match(text)) or bool(_MACHINE_VALUE.search(text))

    def _run_in(self, block: Block, text: str) -> tuple[int, Label]:
        """How long the words are that open a paragraph like a heading, and what they say."""
        found = _BOLD.match(text) or (None if block.kind is BlockKind.ITEM else _RUN_IN.match(text))
        first = not self.title.text and self.place == 0 and self.section.ordinal == 0
        if not found or len(found[1].split()) > (12 if first else 7) or len(text) - found.end() < 12:
            return 0, NONE
        sentence = first and text.rstrip()[-1:] in ".!?。"
        if found.re is _RUN_IN and (
            found[1].startswith("Note that") or (len(text) - found.end() < 40 and not sentence)
        ):
            return 0, NONE
        asked = self.source[block.start + found.end(1)] == "?"
        label = self._label(block.start + found.start(1), block.start + found.end(1) + asked)
        if first:
            self.title = label
            return found.end(), NONE
        return found.end(), label

    def _unit(self, start: int, end: int, text: str, lead: Label, kind: BlockKind) -> Iterator[Unit]:
        text = _balanced(_EDGES.sub("", text.lstrip("–—-•·: ").strip()))
        key = lead.text.casefold() + "".join(char for char in text.casefold() if char.isalnum())
        if not _tells(text, kind) or key in self.seen or _BOILERPLATE.search(text):
            return
        self.seen.add(key)
        yield Unit(start, end, _closed(text), self.section, lead, kind, self.place, text[-1] in ":：")
        self.place += 1


_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z]|[IVX]+)[.)]\s+|^\d+(?:\.\d+)+\s+")


def _balanced(text: str) -> str:
    """The text without a parenthesis whose other half stands in another sentence."""
    if text[:1] == "(" and text.count("(") > text.count(")"):
        return text[1:]
    if text.rstrip(".")[-1:] == ")" and text.count(")") > text.count("("):
        return text.rstrip(".")[:-1]
    return text


def _tells(text: str, kind: BlockKind) -> bool:
    """Whether a statement has words, or is a line of a list or table with a number."""
    return bool(_WORDS.search(text)) or (kind is not BlockKind.PARAGRAPH and any(map(str.isdigit, text)))


def _closed(text: str) -> str:
    """The text with an end that parts it from what follows."""
    last = _LAST_LETTER.search(text)
    mark = last.group()[0] if last else text[-1]
    if mark in ":;；：," and text.endswith(mark):
        return f"{text.rstrip(':;；：, ')}."
    if mark in ".!?…。！？｡؟۔।॥:;；：":
        return text
    if "\u3040" <= mark <= "\u9fff":
        return f"{text}。"
    return text if "\u0e00" <= mark <= "\u0e7f" else f"{text.rstrip(',')}."


def statement(row: Row) -> str:
    """A table row as a statement with its header: ``Pro: Price $49/seat; Storage 10 GB``."""
    cells = [clean(cell) for cell in row.cells]
    header = [clean(cell).strip(" *:") for cell in row.header]
    header += [""] * (len(cells) - len(header))
    pairs = [(h, c) for h, c in zip(header[1:], cells[1:], strict=False) if c and c not in ("-", "–", "—")]
    text = "; ".join(_pair(h, c) for h, c in pairs)
    if not cells or not cells[0]:
        return text
    return f"{cells[0]}: {text}" if text else cells[0]


def _pair(header: str, cell: str) -> str:
    if set(header.casefold().split()) <= set(cell.casefold().split()):
        return cell
    plain = f"{header} {cell}"
    stated = {fact.value for fact in facts.extract(cell, names=False)}
    return plain if {fact.value for fact in facts.extract(plain, names=False)} == stated else f"{header}: {cell}"
