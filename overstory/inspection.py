"""What the stores hold, row by row, for checks that trust no bookkeeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HeldLeaf:
    """A leaf as one version holds it, or a leaf that no version holds."""

    id: str
    document_id: str
    version_id: str | None
    """None where no version holds it."""
    current: bool
    """Whether that version is its document's current one."""
    ordinal: int
    readable: str
    """Its text with its context."""
    content_hash: str


@dataclass(frozen=True, slots=True)
class HeldSection:
    """A section of a version."""

    document_id: str
    version_id: str
    current: bool
    ordinal: int
    first_leaf: int
    last_leaf: int


@dataclass(frozen=True, slots=True)
class HeldSummary:
    """A stored summary with its text."""

    id: str
    kind: str
    level: int
    document_id: str | None
    cluster_id: str | None
    ordinal: int
    text: str
    text_hash: str
    child_hash: str
    failure: str | None
    checked: bool
    """Whether a fact check is recorded."""
    outlived: bool
    """Whether its document has no current version, or one that became current after the summary was made."""


@dataclass(frozen=True, slots=True)
class HeldMembership:
    """A member of a cluster."""

    cluster_id: str
    level: int
    member_id: str
    exists: bool
    """Whether the member is a document of the dataset (level 2) or one of its clusters of the level below."""


@dataclass(frozen=True, slots=True)
class HeldVector:
    """A stored vector, without its numbers."""

    node_id: str
    embedding_hash: str
    kind: str
    level: int
    document_id: str | None


class Inspection(Protocol):
    """Reads everything that the stores hold for a dataset."""

    def leaves(self, dataset: str) -> Sequence[HeldLeaf]:
        """Every leaf, once for each version that holds it, by version and place."""
        ...

    def sections(self, dataset: str) -> Sequence[HeldSection]:
        """Every section, by version and place."""
        ...

    def summaries(self, dataset: str) -> Sequence[HeldSummary]:
        """Every summary, failed ones too, by id."""
        ...

    def memberships(self, dataset: str) -> Sequence[HeldMembership]:
        """Every membership, by cluster and member."""
        ...

    def vectors(self, dataset: str) -> Sequence[HeldVector]:
        """Every vector of every embedding, by embedding and node."""
        ...
