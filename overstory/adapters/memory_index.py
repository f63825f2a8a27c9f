"""Vector indexes in this process, searched exactly: for tests and tiny corpora."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from overstory.errors import StoreError
from overstory.identity import NodeId
from overstory.vector_index import EVERYTHING, Entry, Filter, Found, Opening, Space, Upserted, sift

if TYPE_CHECKING:
    from overstory.vector_index import Vector

_Rows = dict[NodeId, "tuple[Entry, Vector]"]


@dataclass(slots=True)
class MemoryIndex:
    """``vector_index.VectorIndex`` in memory."""

    space: Space
    rows: _Rows = field(default_factory=dict)
    dropped: bool = False

    def upsert(self, entries: Sequence[Entry], vectors: Sequence[Vector] | Vector) -> Upserted:
        """Store or replace vectors, one an entry."""
        self._check()
        sifted = sift(self.space, entries, vectors)
        pairs = zip(sifted.entries, sifted.vectors, strict=True)
        self.rows.update({entry.node_id: (entry, vector.copy()) for entry, vector in pairs})
        return Upserted(len(sifted.entries), sifted.refused)

    def search(self, vector: Vector, limit: int, where: Filter = EVERYTHING) -> list[Found]:
        """The nearest entries that meet a filter, best first, ties by id."""
        self._check()
        met = ((entry, row) for entry, row in self.rows.values() if where.meets(entry))
        found = [Found(entry, float(row @ vector)) for entry, row in met]
        return sorted(found, key=lambda f: (-f.score, f.entry.node_id))[:limit]

    def fetch(self, nodes: Collection[NodeId]) -> dict[NodeId, Entry]:
        """Those of the nodes that are stored."""
        self._check()
        return {node: self.rows[node][0] for node in nodes if node in self.rows}

    def vectors(self, nodes: Collection[NodeId]) -> dict[NodeId, Vector]:
        """Vectors of those of the nodes that are stored."""
        self._check()
        return {node: self.rows[node][1].copy() for node in nodes if node in self.rows}

    def delete(self, nodes: Collection[NodeId]) -> int:
        """Remove nodes; returns how many of them were there."""
        self._check()
        return sum(self.rows.pop(node, None) is not None for node in set(nodes))

    def delete_where(self, where: Filter) -> int:
        """Remove whatever meets a filter; returns the number."""
        self._check()
        return self.delete([node for node, (entry, _) in self.rows.items() if where.meets(entry)])

    def ids(self) -> Iterator[NodeId]:
        """Ids of all nodes."""
        self._check()
        yield from list(self.rows)

    def count(self, where: Filter = EVERYTHING) -> int:
        """The number of entries that meet a filter."""
        self._check()
        return sum(where.meets(entry) for entry, _ in self.rows.values())

    def drop(self) -> None:
        """Remove the index."""
        self.rows.clear()
        self.dropped = True

    def _check(self) -> None:
        if self.dropped:
            raise StoreError("The vector index was dropped", hint="Open it again", dataset=self.space.dataset)


@dataclass(slots=True)
class MemoryIndexes:
    """``vector_index.VectorIndexes`` that live as long as this object."""

    kept: dict[tuple[str, str], MemoryIndex] = field(default_factory=dict)

    def open(self, space: Space) -> MemoryIndex:
        """The index of a space, made if there is none."""
        key = (space.dataset, space.embedding_hash)
        index = self.kept.get(key)
        if index is None or index.dropped:
            index = self.kept[key] = MemoryIndex(space)
        if index.space != space:
            raise StoreError(
                f"The vector index holds vectors of {index.space.dimension} numbers, not {space.dimension}",
                hint="Drop it and build again",
                dataset=space.dataset,
            )
        return index

    def close(self) -> None:
        """Nothing is open."""


def open_indexes(_opening: Opening) -> MemoryIndexes:
    """An empty store."""
    return MemoryIndexes()
