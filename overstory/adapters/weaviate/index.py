"""One collection of Weaviate as a vector index."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overstory.adapters.weaviate.schema import PROPERTIES, VECTOR, condition, entry_of, values
from overstory.adapters.weaviate.server import WeaviateServer
from overstory.errors import StoreError
from overstory.identity import NodeId
from overstory.vector_index import EVERYTHING, Entry, Filter, Found, Space, Upserted, is_id, sift

if TYPE_CHECKING:
    from weaviate.collections import Collection as Objects
    from weaviate.collections.classes.filters import _Filters

    from overstory.vector_index import Vector

BATCH = 500
"""Objects of one request: 3 MB at 1,536 numbers a vector, where servers take 10 MB."""

PAGE = 100
"""Objects asked for at once where all of a set are wanted; below any server's QUERY_MAXIMUM_RESULTS."""


@dataclass(frozen=True, slots=True)
class WeaviateIndex:
    """``vector_index.VectorIndex`` over one collection."""

    server: WeaviateServer
    objects: Objects[Any, Any]  # Any: properties are read by name in schema.entry_of
    space: Space

    def upsert(self, entries: Sequence[Entry], vectors: Sequence[Vector] | Vector) -> Upserted:
        """Store or replace vectors, one an entry, a batch at a time."""
        sifted = sift(self.space, entries, vectors)
        refused = dict(sifted.refused)
        for start in range(0, len(sifted.entries), BATCH):
            part = slice(start, start + BATCH)
            refused |= self._store(sifted.entries[part], sifted.vectors[part])
        return Upserted(len(sifted.entries) - (len(refused) - len(sifted.refused)), refused)

    def _store(self, entries: Sequence[Entry], vectors: Sequence[Vector]) -> dict[NodeId, str]:
        """Why single objects were refused: a batch succeeds as a whole even when none of it was taken."""
        from weaviate.classes.data import DataObject
        from weaviate.exceptions import WeaviateInsertManyAllFailedError

        batch = [
            DataObject(uuid=entry.node_id, properties=values(entry), vector={VECTOR: vector.tolist()})
            for entry, vector in zip(entries, vectors, strict=True)
        ]
        with self.server.calling():
            self._check()
            try:
                errors = {n: e.message for n, e in self.objects.data.insert_many(batch).errors.items()}
            except WeaviateInsertManyAllFailedError as error:
                errors = dict.fromkeys(range(len(batch)), str(error))
        return {entries[number].node_id: self.server.said(message) for number, message in errors.items()}

    def search(self, vector: Vector, limit: int, where: Filter = EVERYTHING) -> list[Found]:
        """The nearest entries that meet a filter, best first, ties by id."""
        from weaviate.classes.query import MetadataQuery

        if limit <= 0 or where.nothing:
            return []
        with self.server.calling():
            found = self.objects.query.near_vector(
                vector.tolist(),
                limit=limit,
                filters=condition(where),
                target_vector=VECTOR,
                return_properties=list(PROPERTIES),
                return_metadata=MetadataQuery(distance=True),
            ).objects
        hits = [Found(entry_of(o.uuid, o.properties), -float(o.metadata.distance or 0.0)) for o in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.entry.node_id))

    def fetch(self, nodes: Collection[NodeId]) -> dict[NodeId, Entry]:
        """Those of the nodes that are stored."""
        found = self._read(nodes, with_vectors=False)
        return {NodeId(str(o.uuid)): entry_of(o.uuid, o.properties) for o in found}

    def vectors(self, nodes: Collection[NodeId]) -> dict[NodeId, Vector]:
        """Vectors of those of the nodes that are stored."""
        import numpy as np

        found = self._read(nodes, with_vectors=True)
        return {NodeId(str(o.uuid)): np.asarray(o.vector[VECTOR], dtype=np.float32) for o in found}

    def delete(self, nodes: Collection[NodeId]) -> int:
        """Remove nodes; returns how many of them were there."""
        from weaviate.classes.query import Filter as Where

        return sum(self._delete(Where.by_id().contains_any(page)) for page in _pages(nodes))

    def delete_where(self, where: Filter) -> int:
        """Remove whatever meets a filter, however much it is; returns the number."""
        from weaviate.classes.query import Filter as Where

        if where.nothing:
            return 0
        return self._delete(condition(where) or Where.by_property("level").greater_or_equal(0))

    def ids(self) -> Iterator[NodeId]:
        """Ids of all nodes, a page at a time by the cursor."""
        for found in self.pages(with_vectors=False):
            yield NodeId(str(found.uuid))

    def pages(self, *, with_vectors: bool) -> Iterator[Any]:
        """All objects, by the cursor."""
        with self.server.calling():
            yield from self.objects.iterator(
                include_vector=with_vectors, return_properties=list(PROPERTIES), cache_size=PAGE
            )

    def count(self, where: Filter = EVERYTHING) -> int:
        """The number of entries that meet a filter."""
        if where.nothing:
            return 0
        with self.server.calling():
            counted = self.objects.aggregate.over_all(filters=condition(where), total_count=True)
        return int(counted.total_count or 0)

    def drop(self) -> None:
        """Remove the collection."""
        with self.server.calling():
            self.server.client.collections.delete(self.objects.name)

    def _check(self) -> None:
        # A server may make unknown collections by itself, without a declared property.
        if not self.objects.exists():
            raise StoreError("The vector index was dropped", hint="Open it again", dataset=self.space.dataset)

    def _read(self, nodes: Collection[NodeId], *, with_vectors: bool) -> Iterator[Any]:
        from weaviate.classes.query import Filter as Where

        for page in _pages(nodes):
            with self.server.calling():
                yield from self.objects.query.fetch_objects(
                    filters=Where.by_id().contains_any(page),
                    limit=len(page),
                    include_vector=with_vectors,
                    return_properties=list(PROPERTIES),
                ).objects

    def _delete(self, where: _Filters) -> int:
        """Delete until nothing matches: one call ends at the server's QUERY_MAXIMUM_RESULTS without a word."""
        deleted = 0
        while True:
            with self.server.calling():
                done = self.objects.data.delete_many(where=where)
            deleted += done.successful
            if done.failed or (done.matches and not done.successful):
                raise StoreError(
                    f"Weaviate deleted {done.successful} of {done.matches} objects",
                    hint="See the server's log; deleting again is safe",
                    dataset=self.space.dataset,
                )
            if not done.matches:
                return deleted


def _pages(nodes: Collection[NodeId]) -> Iterator[list[NodeId]]:
    known = sorted({node for node in nodes if is_id(node)})
    for start in range(0, len(known), PAGE):
        yield known[start : start + PAGE]
