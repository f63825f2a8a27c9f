"""The record's own vector tables as vector indexes: what pgvector holds, seen as any other store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from overstory.adapters.postgres.database import Database, connect
from overstory.adapters.postgres.vectors import PgVectors, table_name
from overstory.errors import StoreError
from overstory.identity import DocumentId, NodeId
from overstory.nodes import NodeKind
from overstory.vector_index import EVERYTHING, Entry, Filter, Found, Opening, Space, Upserted, is_id, originals, sift

if TYPE_CHECKING:
    from overstory.vector_index import Vector

_COLUMNS = ("node_id", "document_id", "kind", "level", "original_chunk_id", "embedding")
_TYPES = ("uuid", "uuid", "text", "int2", "uuid", "vector")
_ENTRY = "node_id::text, kind, level, document_id::text, original_chunk_id::text"
PAGE = 5_000
"""Rows of one read of all ids."""

_HAS_COLUMN = """
select 1 from pg_attribute where attrelid = to_regclass(:table) and attname = 'original_chunk_id' and not attisdropped
"""
_ADD_COLUMN = (
    "alter table {table} add column original_chunk_id uuid",
    "create index if not exists {table}_documents on {table} (document_id)",
)
"""``is_summary`` needs no column: a node is a summary unless its kind says leaf."""

_KIND = "select node_id::text from {table} where kind = :kind"
_SET_ORIGINALS = """
update {table} set original_chunk_id = given.leaf
from unnest(cast(:nodes as uuid[]), cast(:leaves as uuid[])) as given (node, leaf) where node_id = given.node
"""
_DELETE_LOST = "delete from {table} where kind = 'chunk_summary' and original_chunk_id is null"

_NEAREST = """
(select {entry}, -(embedding <#> :query) from {table} where {where} and {half} order by embedding <#> :query limit :n)
"""
_HALVES = ("level = 0", "level > 0")
"""Spelled as the two partial indexes are, else neither is used."""

_NEAREST_EXACT = """
with met as materialized (select * from {table} where {where})
select {entry}, -(embedding <#> :query) from met order by embedding <#> :query limit :n
"""
"""A few documents among many leave an HNSW scan with nothing: reading all of theirs is exact, and quicker."""


@dataclass(frozen=True, slots=True)
class PgVectorIndex:
    """``vector_index.VectorIndex`` over one vector table; on a database bound to a transaction it is part of that."""

    db: Database
    space: Space

    @property
    def table(self) -> str:
        """The table's name."""
        return table_name(self.space.dataset, self.space.embedding_hash)

    def upsert(self, entries: Sequence[Entry], vectors: Sequence[Vector] | Vector) -> Upserted:
        """Store or replace vectors, one an entry, in one transaction."""
        sifted = sift(self.space, entries, vectors)
        with self.db.transaction() as db:
            self._delete(db, [entry.node_id for entry in sifted.entries])
            db.copy(self.table, _COLUMNS, _TYPES, _copied(sifted.entries, sifted.vectors))
        return Upserted(len(sifted.entries), sifted.refused)

    def search(self, vector: Vector, limit: int, where: Filter = EVERYTHING) -> list[Found]:
        """The nearest entries that meet a filter, best first, ties by id."""
        if where.nothing:
            return []
        condition, parameters = _condition(where)
        named = {"entry": _ENTRY, "table": self.table, "where": condition}
        if where.documents is None:
            sql = " union all ".join(_NEAREST.format(half=half, **named) for half in _halves(where))
        else:
            sql = _NEAREST_EXACT.format(**named)
        rows = self.db.rows(sql, query=vector, n=limit, **parameters)
        return sorted((Found(_entry(row), row[5]) for row in rows), key=lambda f: (-f.score, f.entry.node_id))[:limit]

    def fetch(self, nodes: Collection[NodeId]) -> dict[NodeId, Entry]:
        """Those of the nodes that are stored."""
        rows = self.db.rows(self._select(_ENTRY), ids=[node for node in nodes if is_id(node)])
        return {entry.node_id: entry for entry in map(_entry, rows)}

    def vectors(self, nodes: Collection[NodeId]) -> dict[NodeId, Vector]:
        """Vectors of those of the nodes that are stored."""
        rows = self.db.rows(self._select("node_id::text, embedding"), ids=[node for node in nodes if is_id(node)])
        return {NodeId(node): _array(vector) for node, vector in rows}

    def delete(self, nodes: Collection[NodeId]) -> int:
        """Remove nodes; returns how many of them were there."""
        return self._delete(self.db, [node for node in nodes if is_id(node)])

    def delete_where(self, where: Filter) -> int:
        """Remove whatever meets a filter; returns the number."""
        condition, parameters = _condition(where)
        return self.db.run(f"delete from {self.table} where {condition}", **parameters)

    def ids(self) -> Iterator[NodeId]:
        """Ids of all nodes, a page at a time."""
        last = str(UUID(int=0))
        sql = f"select node_id::text from {self.table} where node_id > cast(:last as uuid) order by node_id limit :n"
        while rows := self.db.rows(sql, last=last, n=PAGE):
            yield from (NodeId(node) for (node,) in rows)
            last = rows[-1][0]

    def count(self, where: Filter = EVERYTHING) -> int:
        """The number of entries that meet a filter."""
        condition, parameters = _condition(where)
        return int(self.db.rows(f"select count(*) from {self.table} where {condition}", **parameters)[0][0])

    def drop(self) -> None:
        """Remove the table."""
        with self.db.transaction() as db:
            db.run("delete from vector_table where name = :name", name=self.table)
            db.run(f"drop table if exists {self.table}")

    def _select(self, columns: str) -> str:
        return f"select {columns} from {self.table} where node_id = any(cast(:ids as uuid[]))"

    def _delete(self, db: Database, nodes: Sequence[NodeId]) -> int:
        return db.run(f"delete from {self.table} where node_id = any(cast(:ids as uuid[]))", ids=list(nodes))


@dataclass(frozen=True, slots=True)
class PgVectorIndexes:
    """``vector_index.VectorIndexes`` over the record's database."""

    db: Database

    def open(self, space: Space) -> PgVectorIndex:
        """The index of a space, made if there is none, migrated if it is older."""
        index = PgVectorIndex(self.db, space)
        with self.db.transaction() as db:
            PgVectors(db).prepare(space.dataset, space.embedding_hash, space.dimension)
            found = db.rows("select dimension from vector_table where name = :name", name=index.table)
            if found[0][0] != space.dimension:
                raise StoreError(
                    f"The vector index holds vectors of {found[0][0]} numbers, not {space.dimension}",
                    hint="Drop it and build again",
                    dataset=space.dataset,
                )
            if not db.rows(_HAS_COLUMN, table=index.table):
                _migrate(db, index.table)
        return index

    def close(self) -> None:
        """End the connections."""
        self.db.engine.dispose()


def _migrate(db: Database, table: str) -> None:
    for statement in _ADD_COLUMN:
        db.run(statement.format(table=table))
    summaries, leaves = (
        [NodeId(node) for (node,) in db.rows(_KIND.format(table=table), kind=str(kind))]
        for kind in (NodeKind.CHUNK_SUMMARY, NodeKind.LEAF)
    )
    found = originals(summaries, leaves)
    db.run(_SET_ORIGINALS.format(table=table), nodes=list(found), leaves=list(found.values()))
    db.run(_DELETE_LOST.format(table=table))


def open_indexes(opening: Opening) -> PgVectorIndexes:
    """The store in the record's database."""
    return PgVectorIndexes(connect(opening.database_url))


def _condition(where: Filter) -> tuple[str, dict[str, object]]:
    conditions, parameters = ["true"], dict[str, object]()
    if where.levels is not None:
        wanted = sorted(where.levels)
        # A set of one is left to the half that it lies in, so that its size is not guessed twice.
        conditions.append("level = 0" if wanted == [0] else "level = any(cast(:levels as int[]))")
        parameters |= {} if wanted == [0] else {"levels": wanted}
    if where.documents is not None:
        conditions.append("document_id = any(cast(:documents as uuid[]))")
        parameters["documents"] = sorted(document for document in where.documents if is_id(document))
    return " and ".join(conditions), parameters


def _halves(where: Filter) -> list[str]:
    """The halves in which something can meet a filter: the other would be read to its end in vain."""
    levels = where.levels or {0, 1}
    return [half for half, asked in zip(_HALVES, (0 in levels, max(levels) > 0), strict=True) if asked]


def _entry(row: Any) -> Entry:
    node, kind, level, document, original, *_ = row
    return Entry(
        NodeId(node),
        NodeKind(kind),
        level,
        DocumentId(document) if document else None,
        NodeId(original) if original else None,
    )


def _array(value: Any) -> Any:
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def _copied(entries: Sequence[Entry], vectors: Sequence[Vector]) -> Iterator[Sequence[Any]]:
    for entry, vector in zip(entries, vectors, strict=True):
        original, document = entry.original_chunk_id, entry.document_id
        yield (
            UUID(entry.node_id),
            UUID(document) if document else None,
            str(entry.kind),
            entry.level,
            UUID(original) if original else None,
            vector,
        )
