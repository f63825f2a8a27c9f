"""What a search asks of a store: candidates by meaning and by words, and the nodes behind them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.nodes import NodeKind
from overstory.record import ClusterTree, DocumentTree, StoredSummary

if TYPE_CHECKING:
    from overstory.ports import Vectors


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that one ranking found; only what the current versions hold is ever a candidate."""

    node_id: NodeId
    kind: NodeKind
    score: float
    """Comparable within its ranking only: a cosine, or a weight of words."""
    document_id: DocumentId | None = None
    ordinal: int = 0
    """Of a leaf: its place in the current version. Of a chunk summary: its leaf's place."""
    leaf_id: NodeId | None = None
    """Of a chunk summary: the leaf at its place."""
    passed_through: bool = False
    """Whether its text is its only child's."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """One ranking's findings, best first, leaves and their proxies apart from the summaries above them."""

    leaves: tuple[Candidate, ...] = ()
    """Leaves and chunk summaries."""
    summaries: tuple[Candidate, ...] = ()
    """Section, document and cluster summaries."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The leaves beneath a summary: those of its documents, of a section only its own."""

    documents: frozenset[DocumentId]
    first: int = 0
    last: int | None = None
    """Ordinals of the first and last leaf, both included; to the end when ``last`` is None."""

    def holds(self, leaf: Candidate) -> bool:
        """Whether a leaf lies beneath the summary."""
        within = self.first <= leaf.ordinal and (self.last is None or leaf.ordinal <= self.last)
        return within and leaf.document_id in self.documents


@dataclass(frozen=True, slots=True)
class LeafRow:
    """A leaf as its document's current version holds it."""

    id: NodeId
    document_id: DocumentId
    path: str
    title: str
    ordinal: int
    start: int
    end: int
    headings: tuple[str, ...]
    text: str
    context: str
    content_hash: str
    tokens: int


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A stored summary with its text; of a failed one the text is empty."""

    stored: StoredSummary
    level: int
    document_id: DocumentId | None
    cluster_id: ClusterId | None
    path: str
    """Of its document; empty for a cluster."""
    title: str
    text: str
    tokens: int
    fact_check: Any  # Any: the record's JSON as facts.FactCheck.from_json reads it
    heading: str = ""
    """Of a section summary: the heading that its section stands under."""
    start: int | None = None
    end: int | None = None
    """Character offsets of what it summarizes in the document's normalized text; None for a cluster."""


class SearchStore(Protocol):
    """Reads of one dataset's nodes, for searches and views."""

    def snapshot(self) -> AbstractContextManager[SearchStore]:
        """The same store seen at one moment: a version switched meanwhile is not seen in part.

        Raises:
            StoreUnavailable: The database does not answer.
        """
        ...

    def embeddings(self, dataset: str) -> tuple[str | None, frozenset[str]]:
        """(the embedding_hash that searches use, all that have vectors); (None, nothing) before the first build."""
        ...

    def hold(self, dataset: str, embedding_hash: str) -> bool:
        """Keep the vectors of an embedding until the snapshot ends; asked first of all. False where they are gone."""
        ...

    def semantic(self, dataset: str, embedding_hash: str, vector: Vectors, limit: int) -> Candidates:
        """The nodes nearest to a vector of shape (dimension,), at most ``limit`` of each sort."""
        ...

    def full_text(self, dataset: str, query: str, language: str, limit: int) -> Candidates:
        """The nodes that hold any of the query's words, rare words first, at most ``limit`` of each sort.

        Raises:
            SettingsError: The database has no such text search configuration.
        """
        ...

    def scopes(self, dataset: str, summaries: Collection[NodeId]) -> dict[NodeId, Scope]:
        """What lies beneath summaries."""
        ...

    def nearest_leaf(self, dataset: str, embedding_hash: str, vector: Vectors, scope: Scope) -> Candidate | None:
        """The leaf of a scope nearest to a vector of shape (dimension,)."""
        ...

    def leaves_of(self, dataset: str, documents: Collection[DocumentId]) -> dict[DocumentId, tuple[NodeId, ...]]:
        """Ids of the leaves of documents' current versions, in order."""
        ...

    def leaf_rows(self, dataset: str, leaves: Collection[NodeId]) -> dict[NodeId, LeafRow]:
        """Leaves of current versions."""
        ...

    def summary_rows(self, dataset: str, summaries: Collection[NodeId]) -> dict[NodeId, SummaryText]:
        """Stored summaries, failed ones too."""
        ...

    def document_trees(self, dataset: str, documents: Collection[DocumentId]) -> list[DocumentTree]:
        """Documents with a current version, with leaves, sections and stored summaries, by id."""
        ...

    def cluster_trees(self, dataset: str, clusters: Collection[ClusterId]) -> list[ClusterTree]:
        """Clusters with their members, by id."""
        ...

    def changed(self, dataset: str, documents: Collection[DocumentId], chunk_recipe: str) -> frozenset[DocumentId]:
        """Documents with a version newer than their current one, or with leaves cut by another recipe."""
        ...

    def identify(self, dataset: str, name: str) -> list[tuple[str, str]]:
        """(what, id) of nodes, documents and clusters whose id begins with ``name`` or whose path it is; at most 8.

        ``what`` is ``leaf``, ``summary``, ``document`` or ``cluster``.
        """
        ...

    def clusters_of(self, dataset: str, members: Sequence[str]) -> dict[str, list[ClusterId]]:
        """The clusters that each document or cluster is a member of, by id."""
        ...
