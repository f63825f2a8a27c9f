"""The collections of a Weaviate server: made, checked and migrated when they are opened."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from overstory.adapters.weaviate.index import BATCH, WeaviateIndex
from overstory.adapters.weaviate.schema import VECTOR, collection_name, described, description, entry_of, properties
from overstory.adapters.weaviate.server import WeaviateServer
from overstory.errors import RecordTooNew, StoreError
from overstory.identity import NodeId
from overstory.nodes import NodeKind
from overstory.vector_index import SCHEMA_VERSION, Entry, Space, originals

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WeaviateIndexes:
    """``vector_index.VectorIndexes`` over a server."""

    server: WeaviateServer

    def open(self, space: Space) -> WeaviateIndex:
        """The index of a space, made if there is none, migrated if it is older."""
        collections = self.server.client.collections
        name = collection_name(space)
        with self.server.calling():
            if not collections.exists(name):
                self._create(name, space)
            index = WeaviateIndex(self.server, collections.get(name), space)
            config = index.objects.config.get(simple=False)
        told = described(config.description)
        declared = {found.name for found in config.properties}
        if told.version > SCHEMA_VERSION:
            raise RecordTooNew(
                f"The vector index has schema {told.version}, this program knows up to {SCHEMA_VERSION}",
                hint="Use the Overstory that wrote it, or a newer one",
            )
        if told.dimension not in (0, space.dimension):
            raise StoreError(
                f"The vector index holds vectors of {told.dimension} numbers, not {space.dimension}",
                hint="Drop it and build again",
                dataset=space.dataset,
            )
        if told.version < SCHEMA_VERSION or not declared >= set(properties()):
            _migrate(index, declared)
        return index

    def close(self) -> None:
        """End the connection."""
        self.server.client.close()

    def _create(self, name: str, space: Space) -> None:
        from weaviate.classes.config import Configure, VectorDistances
        from weaviate.exceptions import UnexpectedStatusCodeError

        hnsw = Configure.VectorIndex.hnsw(
            distance_metric=VectorDistances.DOT,  # vectors are of unit length, or zero where a text has no content
            quantizer=Configure.VectorIndex.Quantizer.none(),
        )
        try:
            self.server.client.collections.create(
                name,
                description=description(space),
                properties=list(properties().values()),
                vector_config=Configure.Vectors.self_provided(name=VECTOR, vector_index_config=hnsw),
            )
        except UnexpectedStatusCodeError:
            # Another process may have made it a moment ago.
            if not self.server.client.collections.exists(name):
                raise


def _migrate(index: WeaviateIndex, declared: set[str]) -> None:
    """Declare what is missing and write every object anew.

    The description changes last: a migration that was killed is done again.
    """
    with index.server.calling():
        for name, wanted in properties().items():
            if name not in declared:
                index.objects.config.add_property(wanted)
    lacking = [entry.node_id for entry in map(_entry, index.pages(with_vectors=False)) if _lacks_leaf(entry)]
    found = originals(lacking, index.ids())
    for batch in _batches(index.pages(with_vectors=True)):
        _rewrite(index, batch, found)
    lost = index.delete([node for node in lacking if node not in found])
    with index.server.calling():
        index.objects.config.update(description=description(index.space))
    logger.info("migrated a vector index to schema %s, %s objects to be made again", SCHEMA_VERSION, lost)


def _rewrite(index: WeaviateIndex, batch: list[Any], found: dict[NodeId, NodeId]) -> None:
    import numpy as np

    entries = [_completed(_entry(each), found) for each in batch]
    usable = [n for n, entry in enumerate(entries) if not _lacks_leaf(entry)]
    vectors = [np.asarray(batch[n].vector[VECTOR], dtype=np.float32) for n in usable]
    refused = index.upsert([entries[n] for n in usable], vectors).refused
    if refused:
        reason = next(iter(refused.values()))
        raise StoreError(f"{len(refused)} objects of the vector index cannot be migrated: {reason}", hint="Drop it")


def _completed(entry: Entry, found: dict[NodeId, NodeId]) -> Entry:
    return replace(entry, original_chunk_id=found[entry.node_id]) if entry.node_id in found else entry


def _lacks_leaf(entry: Entry) -> bool:
    return entry.kind is NodeKind.CHUNK_SUMMARY and entry.original_chunk_id is None


def _entry(found: Any) -> Entry:
    return entry_of(found.uuid, found.properties)


def _batches(found: Iterator[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for each in found:
        batch.append(each)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
