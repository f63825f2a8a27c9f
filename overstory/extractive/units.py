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
class Section:
    """What a statement stands under."""

    part: int
    """Index of the text it comes from, among the texts that are to be told apart."""
    ordinal: int
    heading: str
    """The nearest heading, without markup; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One statement: ``source[start:end]``, readable on its own."""

    start: int
    end: int
    text: str
    section: Section
    kind: BlockKind
    place: int
    """Position within its part, from 0."""
    opens_list: bool = False
    """Whether it ends in a colon: what it announces is told elsewhere."""


@dataclass(frozen=True, slots=True)
class Material:
    """A source as the statements in it."""

    titles: tuple[str, ...]
    """One a part; empty where a part has none."""
    units: tuple[Unit, ...]


_RUN_IN = re.compile(r"([A-Z0-9\u00c0-\uffff][^.:!?;,\n|]{2,80}?(?:\([^()\n]{1,30}\))?): +(?=\S)")
_MACHINE_FIELD = re.compile(
    r":?(?:Author|Authors|Author-Email|BDFL-Delegate|PEP-Delegate|Sponsor|Discussions-To|Content-Type|Version: \$|Last-Modified|Message-ID|Email|URL|Home-Page"
    r"|Maintainer|Contact|Translator|Reply-To|layout|permalink|redirect_from|slug)\b",
    re.IGNORECASE,
)
_TITLE_FIELD = re.compile(r":?(?:Title|Subject|タイトル|标题):\s*", re.IGNORECASE)
_BOILERPLATE = re.compile(
    r"SPDX-License-Identifier|(?:is|are|been|hereby) placed (?:in|into) the public domain|CC0-1\.0-Universal|Permission is (?:hereby )?granted"
    r"|^(?:Copyright|©|\(c\)) ?(?:\(c\)|©)? ?\d{4}|All rights reserved|[Ll]icensed under the (?:Apache|MIT|GNU|GPL|BSD|Creative)|GNU Free Documentation License"
    r"|terms of the GNU General Public License|THE SOFTWARE IS PROVIDED|WITHOUT (?:ANY )?WARRANT|Local Variables:|mode: indented-text|coding: utf-8"
    r"|^(?:Table of [Cc]ontents|Contents|On this page|Back to top|Skip to (?:main )?content|Edit this page|Previous|Next|Home|Last-Modified)\b.{0,12}$"
)
_LINKS_ONLY = re.compile(
    r"[\s,;|•·>/-]*(?:!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|`[^`<]*<[^>]+>`_+|<?(?:https?|ftp)://\S+>?)(?:[\s,;|•·>/.-]*(?:!?\[[^\]]*\]\([^)]*\)|<?https?://\S+>?))*[\s,;|•·.-]*"
)
_WORDS = re.compile(r"[^\W\d_]")
_LAST_LETTER = re.compile(r"[^\s\"'”’»)\]][\s\"'”’»)\]]*$")


def material(parts: list[tuple[int, int]], source: str) -> Material:
    """The statements of ``source``, whose parts are told apart by their offsets."""
    titles: list[str] = []
    units: list[Unit] = []
    seen: set[str] = set()
    for number, (start, end) in enumerate(parts):
        reader = _Reader(source, number, seen)
        units += reader.read(blocks(source, start, end))
        titles.append(reader.title)
    return Material(tuple(titles), tuple(units))


class _Reader:
    """Statements of one part."""

    def __init__(self, source: str, part: int, seen: set[str]) -> None:
        self.source = source
        self.part = part
        self.seen = seen
        self.title = ""
        self.section = Section(part, 0, "")
        self.place = 0

    def read(self, found: list[Block]) -> Iterator[Unit]:
        for block in found:
            if block.kind in (BlockKind.TITLE, BlockKind.HEADING):
                self._head(block)
            elif block.row is not None:
                yield from self._unit(block.start, block.end, statement(block.row), block.kind)
            else:
                yield from self._sentences(block)

    def _head(self, block: Block) -> None:
        text = clean(self.source[block.start : block.end]).rstrip(" :.")
        if block.kind is BlockKind.TITLE and not self.title:
            self.title = text
        else:
            self.section = Section(self.part, self.section.ordinal + 1, _NUMBERING.sub("", text))

    def _sentences(self, block: Block) -> Iterator[Unit]:
        text = self.source[block.start : block.end]
        if block.kind is BlockKind.FIELD and self._field(text):
            return
        if _LINKS_ONLY.fullmatch(text):
            return
        offset = self._run_in(block, text)
        for start, end in sentences(text[offset:]):
            begin = block.start + offset
            yield from self._unit(begin + start, begin + end, clean(text[offset + start : offset + end]), block.kind)

    def _field(self, text: str) -> bool:
        title = _TITLE_FIELD.match(text)
        if title and not self.title and self.place < 3:
            self.title = clean(text[title.end() :])
            return True
        return bool(_MACHINE_FIELD.match(text)) or "$Date" in text or "$Revision" in text

    def _run_in(self, block: Block, text: str) -> int:
        """How long the heading is that stands in a paragraph's first line (Pricing: ...)."""
        found = _RUN_IN.match(text)
        if not found or block.kind is BlockKind.ITEM or len(found[1].split()) > 10 or len(text) - found.end() < 40:
            return 0
        heading = clean(found[1])
        if not self.title and self.place == 0 and self.section.ordinal == 0:
            self.title = heading
        else:
            self.section = Section(self.part, self.section.ordinal + 1, heading)
        return found.end()

    def _unit(self, start: int, end: int, text: str, kind: BlockKind) -> Iterator[Unit]:
        text = text.lstrip("–—-•·: ").strip()
        key = "".join(c for c in text.casefold() if c.isalnum())
        if not _WORDS.search(text) or key in self.seen or _BOILERPLATE.search(text):
            return
        self.seen.add(key)
        yield Unit(start, end, _closed(text), self.section, kind, self.place, text[-1] in ":：")
        self.place += 1


_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z]|[IVX]+)[.)]\s+|^\d+(?:\.\d+)+\s+")


def _closed(text: str) -> str:
    """The text with an end that parts it from what follows."""
    last = _LAST_LETTER.search(text)
    mark = last.group()[0] if last else text[-1]
    if mark in ".!?…。！？｡؟۔।॥:;；：":
        return f"{text[:-1].rstrip()}." if mark in ":;；：," and text.endswith(mark) else text
    if "\u3040" <= mark <= "\u9fff":
        return f"{text}。"
    return text if "\u0e00" <= mark <= "\u0e7f" else f"{text.rstrip(',')}."


def statement(row: Row) -> str:
    """A table row as a statement with its header: ``Pro: price $49/seat; storage 10 GB``."""
    cells = [clean(cell) for cell in row.cells]
    header = [clean(cell) for cell in row.header]
    header += [""] * (len(cells) - len(header))
    pairs = [(h, c) for h, c in zip(header[1:], cells[1:], strict=False) if c and c not in ("-", "–", "—")]
    text = "; ".join(_pair(h, c) for h, c in pairs)
    if not cells or not cells[0]:
        return text
    return f"{cells[0]}: {text}" if text else cells[0]


def _pair(header: str, cell: str) -> str:
    if not header or header.casefold() in cell.casefold():
        return cell
    spoken = header if header[1:2].isupper() or not header[0].isupper() else header[0].lower() + header[1:]
    plain = f"{spoken} {cell}"
    stated = {fact.value for fact in facts.extract(cell, names=False)}
    return plain if {fact.value for fact in facts.extract(plain, names=False)} == stated else f"{spoken}: {cell}"
