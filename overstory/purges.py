"""Which documents were purged and stay away, as the core sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from overstory.identity import DocumentId, document_id


@dataclass(frozen=True, slots=True)
class PurgedDocument:
    """A document that was purged: ids only, since a path may say what the document said."""

    place: DocumentId
    """The id that a new document at its path would have: it tells whether a path is meant, and no path."""
    document_id: DocumentId
    """The id that it had; another one where it had moved."""


class Purges(Protocol):
    """Documents that were purged."""

    def all(self, dataset: str) -> set[PurgedDocument]:
        """Every purged document of a dataset."""
        ...

    def add(self, dataset: str, purged: PurgedDocument) -> None:
        """Remember that a document was purged."""
        ...

    def undo(self, dataset: str, purged: PurgedDocument) -> None:
        """Let the next build read the document again."""
        ...


def place_of(dataset: str, path: str) -> DocumentId:
    """The id that stands for a path of the source, whoever has lived there."""
    return document_id(dataset, path)


def left_out(files: int) -> str:
    """What a build says of the files of purged documents."""
    what = "1 purged document is" if files == 1 else f"{files:,} purged documents are"
    return f"{what} left out: 'overstory purge DOC --undo' takes one in again"
