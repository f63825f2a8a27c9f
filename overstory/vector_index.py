"""Vectors outside of the record: one index for each dataset and embedding, whatever product keeps it.

An index holds ids, levels and vectors, never a text; the record can fill it again without a call to a language model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from overstory.errors import EmbeddingError
from overstory.identity import DocumentId, NodeId, summary_id
from overstory.nodes import NodeKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

SCHEMA_VERSION = 2
"""Of what is kept beside a vector: 2 added ``is_summary`` and ``original_chunk_id``."""


@dataclass(frozen=True, slots=True)
class Space:
    """What an index is for: vectors of one embedding over one dataset."""

    dataset: str
    embedding_hash: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept beside a vector."""

    node_id: NodeId
    kind: NodeKind
    level: int
    document_id: DocumentId | None
    """None for a cluster summary."""
    original_chunk_id: NodeId | None = None
    """Of a chunk summary: its leaf (seeds/dify-summary-index.txt)."""

    @property
    def is_summary(self) -> bool:
        """Whether a model or an extractor wrote its text."""
        return self.kind is not NodeKind.LEAF


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries are meant: those that meet every condition; None is no condition, and an empty set meets nothing.

    The dataset is no condition here: an index holds one.
    """

    levels: frozenset[int] | None = None
    documents: frozenset[DocumentId] | None = None

    @property
    def nothing(self) -> bool:
        """Whether no entry can meet it."""
        return self.levels == frozenset() or self.documents == frozenset()

    def meets(self, entry: Entry) -> bool:
        """Whether an entry is meant."""
        return (self.levels is None or entry.level in self.levels) and (
            self.documents is None or entry.document_id in self.documents
        )


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that a search found."""

    entry: Entry
    score: float
    """The inner product with the query: a cosine, since vectors are of unit length."""


@dataclass(frozen=True, slots=True)
class Upserted:
    """What became of the entries of one call."""

    stored: int = 0
    """Different nodes whose vector the store has confirmed."""
    refused: Mapping[NodeId, str] = field(default_factory=dict)
    """Why a node was not stored; what was stored for it before may still be there."""


class VectorIndex(Protocol):
    """The vectors of one space. Every method may raise ``StoreUnavailable`` (transient) or ``StoreError``."""

    @property
    def space(self) -> Space:
        """What the index is for."""
        ...

    def upsert(self, entries: Sequence[Entry], vectors: Sequence[Vector] | Vector) -> Upserted:
        """Store or replace vectors, one an entry; of a node that comes twice the last counts.

        Safe to repeat: after an error some of the entries may be stored, and the same call completes them.

        Raises:
            EmbeddingError: There is not one vector for each entry.
            StoreError: The index was dropped.
        """
        ...

    def search(self, vector: Vector, limit: int, where: Filter = EVERYTHING) -> list[Found]:
        """The ``limit`` nearest entries that meet a filter, best first, ties by id.

        Raises:
            StoreError: ``limit`` is more than the store's server hands out at once (Weaviate: 10,000).
        """
        ...

    def fetch(self, nodes: Collection[NodeId]) -> dict[NodeId, Entry]:
        """Those of the nodes that are stored."""
        ...

    def vectors(self, nodes: Collection[NodeId]) -> dict[NodeId, Vector]:
        """Vectors (dimension,), float32, of those of the nodes that are stored."""
        ...

    def delete(self, nodes: Collection[NodeId]) -> int:
        """Remove nodes; returns how many of them were there."""
        ...

    def delete_where(self, where: Filter) -> int:
        """Remove whatever meets a filter, however much it is; returns the number."""
        ...

    def ids(self) -> Iterator[NodeId]:
        """Ids of all nodes, in no order."""
        ...

    def count(self, where: Filter = EVERYTHING) -> int:
        """The number of entries that meet a filter."""
        ...

    def drop(self) -> None:
        """Remove the index with all that is in it; nothing when it is gone."""
        ...


class VectorIndexes(Protocol):
    """A store of indexes."""

    def open(self, space: Space) -> VectorIndex:
        """The index of a space, made if there is none.

        One with an older schema is migrated. A chunk summary whose leaf is not in the index is removed then: it counts
        as missing and is embedded again.

        Raises:
            RecordTooNew: A newer program made it.
            StoreError: It holds vectors of another dimension.
            StoreUnavailable: The store does not answer.
        """
        ...

    def close(self) -> None:
        """End the connection; its indexes cannot be used any more."""
        ...


@dataclass(frozen=True, slots=True)
class Opening:
    """What a store may need to open."""

    database_url: str = ""
    """Of the record, an SQLAlchemy address."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Where addresses and keys of other servers come from."""


Opener = Callable[[Opening], VectorIndexes]
"""What an entry point of the group ``overstory.vector_indexes`` is."""


@dataclass(frozen=True, slots=True)
class Sifted:
    """A call's entries, each node once, and those that no store may take."""

    entries: tuple[Entry, ...]
    vectors: tuple[Vector, ...]
    refused: Mapping[NodeId, str]


def sift(space: Space, entries: Sequence[Entry], vectors: Sequence[Vector] | Vector) -> Sifted:
    """Set apart what a store would refuse, choke on or lose, so that all stores refuse the same.

    Raises:
        EmbeddingError: There is not one vector for each entry.
    """
    if len(entries) != len(vectors):
        raise EmbeddingError(f"{len(vectors)} vectors came for {len(entries)} texts", hint="Check the embedder")
    last = {entry.node_id: (entry, vector) for entry, vector in zip(entries, vectors, strict=True)}
    reasons = {node: why for node, (entry, vector) in last.items() if (why := _fault(space, entry, vector))}
    good = [pair for node, pair in last.items() if node not in reasons]
    return Sifted(tuple(entry for entry, _ in good), tuple(vector for _, vector in good), reasons)


def _fault(space: Space, entry: Entry, vector: Vector) -> str:
    import numpy as np

    if wrong := next((name for name, value in _ids(entry) if not is_id(value)), None):
        return f"its {wrong} is not a UUID in lower case"
    if vector.shape != (space.dimension,):
        return f"its vector has shape {vector.shape}, the index takes {(space.dimension,)}"
    if not np.isfinite(vector).all():
        return "its vector has a value that is not finite"
    if entry.kind is NodeKind.CHUNK_SUMMARY and entry.original_chunk_id is None:
        return "it is a chunk summary without its original_chunk_id"
    return ""


def _ids(entry: Entry) -> Iterable[tuple[str, str]]:
    yield "node_id", entry.node_id
    if entry.document_id is not None:
        yield "document_id", entry.document_id
    if entry.original_chunk_id is not None:
        yield "original_chunk_id", entry.original_chunk_id


def originals(chunk_summaries: Collection[NodeId], leaves: Iterable[NodeId]) -> dict[NodeId, NodeId]:
    """The leaf of each chunk summary, by its id, which is made of the leaf's; none where the leaf is not given."""
    wanted = frozenset(chunk_summaries)
    derived = ((summary_id(NodeKind.CHUNK_SUMMARY, leaf), leaf) for leaf in leaves) if wanted else ()
    return {summary: leaf for summary, leaf in derived if summary in wanted}


def is_id(value: str) -> bool:
    """Whether a value is spelled as our ids are; others are in no index."""
    try:
        return str(UUID(value)) == value
    except ValueError:
        return False
