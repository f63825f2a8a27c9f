"""What only one document says, and where it is still found: the deletion proof, which trusts no bookkeeping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from overstory.identity import DocumentId

LINE_CHARS = 24
"""A shorter line may stand anywhere by chance."""
WORD_CHARS = 5
"""A shorter word may stand anywhere by chance."""
LONGEST_CHARS = 120
"""Of a line this much is looked for: a longer one is cut into pieces, some of which may be left alone."""

_ENDS = re.compile(r"\n+|(?<=[.!?;:])\s+|(?<=[。！？；])")
_BLANKS = re.compile(r"\s+")
_HEXADECIMAL = re.compile(r"[0-9a-f-]+")
"""Ids and hashes stand everywhere."""
_WORD = re.compile(r"[^\W_]+(?:[-./][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Traces:
    """Passages that one document says and no other: lower case, blanks as one space."""

    lines: frozenset[str]
    """Sentences and lines, in pieces of at most ``LONGEST_CHARS``."""
    words: frozenset[str]
    """Of letters and digits together (names, codes, amounts): others stand in the messages of any program."""

    def __len__(self) -> int:
        """How many passages are looked for."""
        return len(self.lines) + len(self.words)

    def found_in(self, text: str) -> set[str]:
        """The passages that a text holds."""
        plain = normalized(text)
        lines = {line for line in self.lines if line in plain}
        return lines | {word for word in self.words if word in plain and _stands_alone(word, plain)}

    def without(self, text: str) -> Traces:
        """Those that a text does not hold."""
        found = self.found_in(text)
        return Traces(self.lines - found, self.words - found) if found else self


def traces_of(texts: Iterable[str], others: Iterable[str]) -> Traces:
    """What ``texts``, all that is known of a document, say and none of ``others`` does."""
    lines: set[str] = set()
    words: set[str] = set()
    for text in texts:
        lines |= set(_lines(text))
        words |= set(_words(text))
    traces = Traces(frozenset(lines), frozenset(words))
    for other in others:
        traces = traces.without(other)
    return traces


def normalized(text: str) -> str:
    """A text as passages are compared: lower case, blanks as one space."""
    return _BLANKS.sub(" ", text).lower().strip()


def _stands_alone(word: str, plain: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", plain) is not None


def _lines(text: str) -> Iterator[str]:
    for part in _ENDS.split(text):
        line = normalized(part)
        for start in range(0, len(line), LONGEST_CHARS):
            piece = line[start : start + LONGEST_CHARS].strip()
            if len(piece) >= LINE_CHARS:
                yield piece


def _words(text: str) -> Iterator[str]:
    for found in _WORD.findall(text.lower()):
        mixed = any(c.isdigit() for c in found) and any(c.isalpha() for c in found)
        if len(found) >= WORD_CHARS and mixed and not _HEXADECIMAL.fullmatch(found):
            yield found


@dataclass(frozen=True, slots=True)
class Store:
    """A place that may hold text: a column of a table, or a file."""

    name: str
    """For people: ``overstory.summary.text``."""
    texts: Iterable[str]
    """All that it holds, read when it is iterated over."""


class TextStores(Protocol):
    """Every place of the deployment that may hold text."""

    def texts_of(self, document: DocumentId) -> list[str]:
        """All texts that are known of a document, pending versions too."""
        ...

    def texts_of_others(self, document: DocumentId) -> Iterator[str]:
        """All texts that are known of all other documents, of whatever dataset, a document at a time."""
        ...

    def stores(self) -> Iterator[Store]:
        """Every place, found in the database's own catalog."""
        ...

    def settle(self) -> None:
        """Let the database forget what its statistics quote of rows that are gone."""
        ...

    def erase(self) -> list[str]:
        """Write the tables anew, so that no byte of removed rows stays in their files; returns what was missed."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """How much of what only the document said is still in a place."""

    store: str
    passages: frozenset[str] = frozenset()
    """For people to judge; they go to a terminal and nowhere else."""

    @property
    def found(self) -> int:
        """How many."""
        return len(self.passages)


@dataclass(slots=True)
class Proof:
    """What a scan of every place has found."""

    passages: int
    """How many were looked for in each place."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was found anywhere."""
        return not any(finding.found for finding in self.findings)


def prove(traces: Traces, stores: Iterable[Store]) -> Proof:
    """Look for traces in every place."""
    proof = Proof(len(traces))
    for store in stores:
        found: set[str] = set()
        if traces.lines or traces.words:
            for text in store.texts:
                found |= traces.found_in(text)
        proof.findings.append(Finding(store.name, frozenset(found)))
    return proof


READ_BYTES = 2**24
"""How much of a file is looked at at once."""
OVERLAP_BYTES = 1024
"""More than any passage takes: one that lies across two reads is found."""


def files(folder: Path, name: str) -> Store:
    """All files beneath a folder as one place; whatever is no text is read as if it were."""
    return Store(name, _contents(folder))


def _contents(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield from _read(path)


def _read(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            tail = b""
            while raw := file.read(READ_BYTES):
                yield (tail + raw).decode("utf-8", errors="replace")
                tail = raw[-OVERLAP_BYTES:]
    except (FileNotFoundError, IsADirectoryError):
        return  # It went while the folder was read.
