"""The nodes of the index and the values that describe them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overstory.identity import NodeId


class NodeKind(StrEnum):
    """What a node is; kinds of one level are told apart by it."""

    LEAF = "leaf"
    CHUNK_SUMMARY = "chunk_summary"
    SECTION_SUMMARY = "section_summary"
    DOCUMENT_SUMMARY = "document_summary"
    CLUSTER_SUMMARY = "cluster_summary"

    @property
    def level(self) -> int:
        """0 for leaves and their summaries, 1 for documents and sections, 2 for clusters of documents."""
        return _LEVELS[self]


_LEVELS = {
    NodeKind.LEAF: 0,
    NodeKind.CHUNK_SUMMARY: 0,
    NodeKind.SECTION_SUMMARY: 1,
    NodeKind.DOCUMENT_SUMMARY: 1,
    NodeKind.CLUSTER_SUMMARY: 2,
}


class NodeState(StrEnum):
    """Whether a node says what its children say."""

    FRESH = "fresh"
    STALE = "stale"
    MISSING = "missing"
    FAILED = "failed"
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A chunk of a document's text, as one version holds it."""

    id: NodeId
    ordinal: int
    """Position within the version, from 0."""
    start: int
    end: int
    """``source[start:end] == text``: character offsets into the normalized text."""
    text: str
    context: str
    """What a reader needs before ``text`` and what the source holds elsewhere (a table's header row); often empty."""
    content_hash: str
    tokens: int
    """Tokens of context and text together."""
    headings: tuple[str, ...]
    """The headings above it, outermost first."""

    @property
    def readable(self) -> str:
        """What is embedded, summarized and shown: the text with its context."""
        return f"{self.context}{self.text}"
