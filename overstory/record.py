"""The record as the core sees it: rows, and one protocol for each kind of thing that is kept.

Every method is one transaction of its own, unless it is called on what ``Record.transaction`` yields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from overstory.identity import ClusterId, DocumentId, NodeId, VersionId
from overstory.nodes import Leaf, NodeKind
from overstory.ports import Call, FileState
from overstory.purges import Purges
from overstory.recipes_seen import RecipesSeen
from overstory.repairs import Repairs

if TYPE_CHECKING:
    from overstory.ports import Vectors


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as last seen in its source."""

    id: DocumentId
    path: str
    shard: int
    raw_hash: str
    """Of the file's bytes."""
    content_hash: str | None
    """Of the normalized text last extracted; None while none could be."""
    failure: str | None
    current_version: VersionId | None
    last_number: int
    """Number of its newest version, 0 while it has none."""
    title: str = ""
    media_type: str = ""
    extraction_recipe: str | None = None
    """What its newest version was read with; None while it has none, or where that is not known."""
    file: FileState | None = field(default=None, compare=False)
    """When its bytes were hashed; None where that is not known. Another one alone is no change."""


@dataclass(frozen=True, slots=True)
class ScannedDocument:
    """What a scan found at a path, new or changed in bytes."""

    row: DocumentRow
    text: str | None
    """The normalized text when it differs from the last version's, to become a new version."""
    reextracted: bool = False
    """The bytes are those of the last version: the text differs because of what read it."""
    emptied: bool = False
    """The bytes are others, and no text can be made of them: nothing of what it said before may stay."""


@dataclass(frozen=True, slots=True)
class PendingVersion:
    """A version whose leaves are not current, or were cut by another recipe."""

    document_id: DocumentId
    path: str
    version_id: VersionId
    replaces: VersionId | None
    """The current version, if another; its summaries go before anything is built."""


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A run of leaves that gets a summary of its own."""

    ordinal: int
    first_leaf: int
    last_leaf: int
    heading: str
    child_hash: str


@dataclass(frozen=True, slots=True)
class CutVersion:
    """A version with its leaves, ready to become current."""

    document_id: DocumentId
    version_id: VersionId
    leaves: tuple[Leaf, ...]
    sections: tuple[SectionRow, ...]
    child_hash: str
    chunk_recipe: str
    tokens: int


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """What is known of a stored summary without its text."""

    id: NodeId
    kind: NodeKind
    ordinal: int
    child_hash: str
    recipe_hash: str
    text_hash: str
    failure: str | None


@dataclass(frozen=True, slots=True)
class DocumentTree:
    """A document's current version, its sections and its stored summaries."""

    document_id: DocumentId
    path: str
    title: str
    shard: int
    version_id: VersionId
    version_number: int
    child_hash: str
    """Over its leaves, in order."""
    leaf_count: int
    sections: tuple[SectionRow, ...]
    leaves: tuple[tuple[NodeId, str], ...] = ()
    """(leaf id, content hash) in order; filled only where chunk summaries are wanted."""
    stored: Mapping[NodeId, StoredSummary] = field(default_factory=dict)
    reextracted: bool = False
    """The version has the bytes of the one before it, read by another extractor."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a cluster: a document or a cluster of the level below."""

    member_id: str
    summary_id: NodeId | None
    text_hash: str | None
    """None while the member has no usable summary."""


@dataclass(frozen=True, slots=True)
class ClusterTree:
    """A cluster, its members and its stored summary."""

    cluster_id: ClusterId
    level: int
    shard: int
    members: tuple[Member, ...]
    stored: StoredSummary | None


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A level's frozen clusters, serialized, and the embedding whose space they live in."""

    state: bytes
    generation: int
    embedding_hash: str


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A summary to be stored, or the reason why there is none."""

    id: NodeId
    kind: NodeKind
    level: int
    document_id: DocumentId | None
    cluster_id: ClusterId | None
    ordinal: int
    text: str
    text_hash: str
    child_hash: str
    recipe_hash: str
    failure: str | None
    tokens: int
    fact_check: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class LevelHealth:
    """How many nodes of one kind and level are in which state."""

    kind: NodeKind
    level: int
    fresh: int = 0
    stale: int = 0
    missing: int = 0
    failed: int = 0
    orphaned: int = 0

    @property
    def total(self) -> int:
        """Nodes that ought to exist; orphaned ones ought not."""
        return self.fresh + self.stale + self.missing + self.failed

    @property
    def staleness_rate(self) -> float:
        """Share of nodes, 0 to 1, whose hash disagrees or that are missing; 0 for an empty level."""
        return (self.stale + self.missing) / self.total if self.total else 0.0


class Documents(Protocol):
    """Source documents and their versions."""

    def rows(self, dataset: str, shards: Collection[int] | None = None) -> list[DocumentRow]:
        """All documents of the shards, by path."""
        ...

    def save_scan(self, dataset: str, scanned: Sequence[ScannedDocument]) -> None:
        """Insert or update documents, and a new version for each that has a text."""
        ...

    def move(self, moves: Mapping[DocumentId, str]) -> None:
        """Give documents new paths, all at once, so that two may swap theirs."""
        ...

    def delete(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove documents, the clusters that they leave empty, and the remembered answers that saw them.

        Returns:
            Ids of the summaries of those clusters.
        """
        ...

    def clear(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove all versions of documents with their leaves, and the clusters that they leave empty.

        Returns:
            Ids of the summaries of those clusters.
        """
        ...

    def note_files(self, rows: Sequence[DocumentRow]) -> None:
        """Keep the size and time of the files of documents that are otherwise as they were."""
        ...

    def withheld(self, dataset: str) -> dict[DocumentId, bool]:
        """Documents that the source no longer lists and that were kept; true where their deletion is approved."""
        ...

    def withhold(self, dataset: str, documents: Collection[DocumentId], *, approved: bool = False) -> None:
        """Note exactly these documents as withheld; ``approved`` approves of their deletion, and takes nothing back."""
        ...

    def pending(self, dataset: str, chunk_recipe: str, shards: Collection[int] | None = None) -> list[PendingVersion]:
        """Versions whose leaves are to be cut, by document id."""
        ...

    def texts(self, versions: Collection[VersionId]) -> dict[VersionId, str]:
        """The texts of versions: as extracted, or rebuilt from their leaves."""
        ...


class Leaves(Protocol):
    """Leaves and the versions that hold them."""

    def known(self, documents: Collection[DocumentId]) -> set[NodeId]:
        """Ids of all stored leaves of the documents."""
        ...

    def make_current(
        self, cut: Sequence[CutVersion], new: Collection[NodeId], language: str
    ) -> list[tuple[NodeId, DocumentId]]:
        """Store new leaves, switch the versions to current and drop leaves that none holds; returns those dropped."""
        ...

    def sizes(self, dataset: str, shards: Collection[int] | None = None) -> dict[int, int]:
        """How many leaves there are of each number of tokens."""
        ...

    def language(self, dataset: str) -> str | None:
        """The language that the words of all leaves and summaries are indexed in; None where that is not known."""
        ...

    def index_words(self, dataset: str, language: str, shards: Collection[int]) -> int:
        """Index the words of the shards' leaves and summaries that are in another language; returns their number."""
        ...

    def set_language(self, dataset: str, language: str) -> None:
        """Note that the words of all leaves and summaries are indexed in a language."""
        ...

    def readable(self, versions: Collection[VersionId]) -> dict[VersionId, list[str]]:
        """Texts with context of the versions' leaves, in order."""
        ...


class Summaries(Protocol):
    """Summaries of every kind, and the answers that were paid for."""

    def purge(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove all summaries of documents; returns their ids."""
        ...

    def trees(
        self, dataset: str, shards: Collection[int] | None = None, *, with_leaves: bool = False
    ) -> list[DocumentTree]:
        """Documents with a current version, by id."""
        ...

    def texts(self, nodes: Collection[NodeId]) -> dict[NodeId, str]:
        """Texts of summaries."""
        ...

    def facts_kept(self, dataset: str, kind: NodeKind, shards: Collection[int] | None = None) -> list[tuple[int, int]]:
        """(facts of the source, those kept) of each usable summary of a kind."""
        ...

    def save(self, dataset: str, rows: Sequence[SummaryRow], language: str) -> None:
        """Insert or replace summaries."""
        ...

    def delete(self, nodes: Collection[NodeId]) -> None:
        """Remove summaries."""
        ...

    def answers(self, dataset: str, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Remembered texts by (child_hash, recipe_hash)."""
        ...

    def remember(
        self, dataset: str, answers: Mapping[tuple[str, str], str], owners: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        """Keep paid texts by (child_hash, recipe_hash) for as long as every document beneath their owner lives."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterChanges:
    """What memberships would change in a level of clusters."""

    written: frozenset[ClusterId]
    """New clusters, and those of which a member comes, goes or has another weight."""
    removed: frozenset[ClusterId]


class Clusters(Protocol):
    """Clusters, memberships and the frozen model that made them."""

    def model(self, dataset: str, level: int) -> StoredModel | None:
        """The model of a level."""
        ...

    def changes(
        self, dataset: str, level: int, memberships: Mapping[ClusterId, Sequence[tuple[str, float]]]
    ) -> ClusterChanges:
        """What ``save`` would write and remove, given these memberships."""
        ...

    def save(
        self,
        dataset: str,
        level: int,
        model: StoredModel | None,
        memberships: Mapping[ClusterId, Sequence[tuple[str, float]]],
    ) -> list[NodeId]:
        """Store a level's model and memberships, touching what differs; returns summaries of removed clusters."""
        ...

    def trees(self, dataset: str, level: int, shards: Collection[int] | None = None) -> list[ClusterTree]:
        """Clusters of a level with their members, by id; also those that have lost all of them."""
        ...

    def levels(self, dataset: str) -> list[int]:
        """Levels that have clusters or a model of them, lowest first."""
        ...


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls have cost."""

    calls: int
    tokens_in: int
    tokens_out: int
    usd: float


class Ledger(Protocol):
    """Every call that was made, and its price."""

    def add(self, dataset: str, run_id: str, calls: Sequence[Call]) -> None:
        """Append calls."""
        ...

    def spent(self, dataset: str, run_id: str | None = None) -> Spent:
        """What a run has cost so far, or all runs."""
        ...


class VectorStore(Protocol):
    """Vectors by node id; all are derived and can be made again without a model call."""

    def prepare(self, dataset: str, embedding_hash: str, dimension: int) -> None:
        """Make room for vectors of an embedding, if there is none."""
        ...

    def prepared(self, dataset: str, embedding_hash: str) -> bool:
        """Whether there is room for vectors of an embedding; without it every node lacks one."""
        ...

    def upsert(self, dataset: str, embedding_hash: str, rows: Sequence[VectorRow], vectors: Vectors) -> None:
        """Store vectors (n, dimension), one a row."""
        ...

    def delete(self, dataset: str, nodes: Collection[NodeId]) -> None:
        """Remove vectors of nodes from every embedding of the dataset."""
        ...

    def without_vector(
        self, dataset: str, embedding_hash: str, shards: Collection[int] | None = None
    ) -> Iterator[tuple[VectorRow, str]]:
        """(row, text) of current leaves and usable summaries that lack a vector."""
        ...

    def lacking(self, dataset: str, embedding_hash: str) -> int:
        """The number of current leaves and usable summaries that lack a vector."""
        ...

    def document_summaries(self, dataset: str, embedding_hash: str) -> tuple[list[DocumentId], list[str], Vectors]:
        """(document ids, text hashes, vectors (n, dimension)) of all usable document summaries, by id."""
        ...

    def mean_leaves(
        self, dataset: str, embedding_hash: str, documents: Collection[DocumentId]
    ) -> tuple[list[DocumentId], Vectors]:
        """(ids, vectors (n, dimension)) of those of the documents that have leaves: the mean of these, by id."""
        ...

    def serving(self, dataset: str) -> str | None:
        """The embedding_hash that searches use; None before the first load."""
        ...

    def stored(self, dataset: str, embedding_hash: str) -> tuple[int, int]:
        """(nodes, tokens) that have a vector of an embedding."""
        ...

    def finish_load(self, dataset: str, embedding_hash: str) -> None:
        """Build what is cheaper to build after many rows than with each; serve this embedding from now on."""
        ...


@dataclass(frozen=True, slots=True)
class VectorRow:
    """Where a vector belongs."""

    node_id: NodeId
    kind: NodeKind
    level: int
    document_id: DocumentId | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a dataset had when it was removed."""

    documents: int
    leaves: int
    summaries: int


class Hold(Protocol):
    """What a run holds; all of it ends with its process."""

    def take(self, dataset: str) -> None:
        """Hold a dataset against other builds until the hold ends; once taken, see that it is still held.

        Raises:
            BuildLocked: Another build holds it.
            StoreUnavailable: The connection was lost, and with it what was held.
        """
        ...


class Record(Protocol):
    """Everything that is kept."""

    documents: Documents
    leaves: Leaves
    summaries: Summaries
    clusters: Clusters
    ledger: Ledger
    vectors: VectorStore
    purges: Purges
    repairs: Repairs
    recipes_seen: RecipesSeen

    def ensure_dataset(self, name: str, source: str) -> None:
        """Make the dataset, or check that it is built from the same source.

        Raises:
            SettingsError: The name belongs to another source.
        """
        ...

    def source(self, name: str) -> str | None:
        """The folder that a dataset is built from; None where there is no such dataset."""
        ...

    def relocate(self, name: str, source: str) -> None:
        """Note that a dataset's folder has moved; nothing else changes, since documents are known by relative paths."""
        ...

    def forget(self, name: str) -> Forgotten:
        """Remove a dataset with all that is kept for it, paid answers, vectors and ledger included."""
        ...

    def transaction(self) -> AbstractContextManager[Record]:
        """The same record bound to one transaction, committed when the block ends without an error."""
        ...

    def hold(self, run_id: str | None = None) -> AbstractContextManager[Hold]:
        """What a run holds until the block ends: that it lives, and the datasets that it takes."""
        ...

    def lock(self, dataset: str) -> AbstractContextManager[None]:
        """Hold one dataset against builds.

        Raises:
            BuildLocked: A build holds it.
        """
        ...

    def living(self, run_ids: Iterable[str]) -> set[str]:
        """Those of the runs whose process lives."""
        ...

    def oldest_change(self, documents: Iterable[DocumentId], clusters: Iterable[ClusterId]) -> datetime | None:
        """When the oldest of these nodes went stale.

        A document: when the first text that waits to be cut was extracted, when the document was last seen where it
        cannot be read, else when its version became current. A cluster: when the first of its members made since was
        made; a deletion leaves no date, then when its own summary was made, which is too early. What a new recipe
        makes stale is not for this (``recipes_seen``).
        """
        ...
