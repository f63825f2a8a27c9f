"""What mends a record that a crash or a foreign hand has damaged, as the core sees it. Nothing here calls a model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from overstory.identity import DocumentId, NodeId


class Repairs(Protocol):
    """Mends rows; each method is one transaction and returns the nodes whose vectors are to go."""

    def orphans(self, dataset: str) -> list[tuple[str, str]]:
        """(kind, id) of what nothing asks for: "answer" of documents that are gone, "cluster" without a member."""
        ...

    def drop_orphans(self, dataset: str) -> list[NodeId]:
        """Remove these, and memberships whose member does not exist."""
        ...

    def drop_dead(self, dataset: str) -> list[NodeId]:
        """Remove leaves and sections that only versions hold which are not current, and leaves that none holds."""
        ...

    def mark_stale(self, summaries: Collection[NodeId]) -> list[NodeId]:
        """Let the next build make summaries again, and note the hash of the text that they have."""
        ...

    def read_again(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove all versions of documents with leaves and summaries, so that the next build reads their files again.

        Their remembered answers stay: what comes out the same costs no call.
        """
        ...
