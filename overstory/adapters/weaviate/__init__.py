"""Vector indexes in Weaviate, through its client of version 4 (gRPC)."""

from __future__ import annotations

from overstory.adapters.weaviate.server import ServerAddress, WeaviateServer
from overstory.adapters.weaviate.store import WeaviateIndexes
from overstory.vector_index import Opening

__all__ = ["ServerAddress", "WeaviateIndexes", "open_indexes"]


def open_indexes(opening: Opening) -> WeaviateIndexes:
    """The store at the address that the environment names, on this machine by default."""
    return WeaviateIndexes(WeaviateServer.connect(ServerAddress.of(opening.environ)))
