"""What a collection looks like: its name, its properties, and what its description tells of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overstory.identity import DocumentId, NodeId, digest
from overstory.nodes import NodeKind
from overstory.vector_index import SCHEMA_VERSION, Entry, Filter, Space

if TYPE_CHECKING:
    from weaviate.classes.config import Property
    from weaviate.collections.classes.filters import _Filters

PROPERTIES = ("kind", "level", "is_summary", "document_id", "original_chunk_id")
"""All are declared and all are requested: what is not requested is left out of hits without a word."""

VECTOR = "default"


def collection_name(space: Space) -> str:
    """The collection of a dataset and embedding: a capital, as Weaviate wants it, and 32 hexadecimal digits."""
    return f"Overstory_{digest('vectors', space.dataset, space.embedding_hash)[:32]}"


@dataclass(frozen=True, slots=True)
class Described:
    """What a collection's description says; dimension 0 where it says nothing."""

    version: int
    dimension: int


def description(space: Space, version: int = SCHEMA_VERSION) -> str:
    """Plain ASCII, whatever the dataset is called."""
    told = {"overstory_schema": version, "dimension": space.dimension, "dataset": space.dataset}
    return json.dumps(told | {"embedding_hash": space.embedding_hash})


def described(text: str | None) -> Described:
    """Read a description; one that is not ours counts as the oldest."""
    try:
        told = json.loads(text or "{}")
        return Described(int(told["overstory_schema"]), int(told["dimension"]))
    except (ValueError, TypeError, KeyError):
        return Described(1, 0)


def properties() -> dict[str, Property]:
    """The declared properties; ids are compared whole."""
    from weaviate.classes.config import DataType, Property, Tokenization

    types = {"level": DataType.INT, "is_summary": DataType.BOOL}
    return {
        name: Property(name=name, data_type=types[name], index_filterable=True)
        if name in types
        else Property(
            name=name,
            data_type=DataType.TEXT,
            tokenization=Tokenization.FIELD,
            index_filterable=True,
            index_searchable=False,
        )
        for name in PROPERTIES
    }


def values(entry: Entry) -> dict[str, Any]:
    """An entry's properties; those without a value are left out."""
    found = {
        "kind": str(entry.kind),
        "level": entry.level,
        "is_summary": entry.is_summary,
        "document_id": entry.document_id,
        "original_chunk_id": entry.original_chunk_id,
    }
    return {name: value for name, value in found.items() if value is not None}


def entry_of(node: object, found: Mapping[str, Any]) -> Entry:
    """The entry of an object's id and properties."""
    document, original = found.get("document_id"), found.get("original_chunk_id")
    return Entry(
        node_id=NodeId(str(node)),
        kind=NodeKind(found["kind"]),
        level=int(found["level"]),
        document_id=DocumentId(document) if document else None,
        original_chunk_id=NodeId(original) if original else None,
    )


def condition(where: Filter) -> _Filters | None:
    """A filter as the client takes it; None where it has no condition."""
    from weaviate.classes.query import Filter as Where

    parts = []
    if where.levels is not None:
        parts.append(Where.by_property("level").contains_any(sorted(where.levels)))
    if where.documents is not None:
        parts.append(Where.by_property("document_id").contains_any(sorted(where.documents)))
    return Where.all_of(parts) if parts else None
