"""Vectors in pgvector: one table for each dataset and embedding, in the record's own transactions."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from overstory.adapters.postgres.database import IN_SHARDS, Database, listed
from overstory.errors import EmbeddingError
from overstory.identity import DocumentId, NodeId, digest
from overstory.nodes import NodeKind
from overstory.record import VectorRow

if TYPE_CHECKING:
    from overstory.ports import Vectors

_COLUMNS = (
    ("node_id", "document_id", "kind", "level", "embedding"),
    ("uuid", "uuid", "text", "int2", "vector"),
)

_CREATE = """
create table if not exists {table} (
    node_id uuid primary key,
    document_id uuid,
    kind text not null,
    level smallint not null,
    embedding vector({dimension}) not null
)
"""

_INDEXES = (
    "create index if not exists {table}_leaves on {table} using hnsw (embedding vector_ip_ops) where level = 0",
    "create index if not exists {table}_upper on {table} using hnsw (embedding vector_ip_ops) where level > 0",
)
"""Two graphs, so that the quota's summaries are found among any number of leaves."""

INDEX_FROM_ROWS = 20_000
"""Below it an exact scan answers in a few milliseconds, and recall is 1."""

_WITHOUT = """
select l.id::text, 'leaf', 0, l.document_id::text, l.context || l.text
from document d
join version_leaf vl on vl.version_id = d.current_version
join leaf l on l.id = vl.leaf_id
where d.dataset = :dataset and {shards} and not exists (select 1 from {table} t where t.node_id = l.id)
union
select s.id::text, s.kind, s.level, s.document_id::text, s.text
from summary s
left join document d on d.id = s.document_id
left join cluster c on c.id = s.cluster_id
where s.dataset = :dataset and s.failure is null and {either_shards}
  and not exists (select 1 from {table} t where t.node_id = s.id)
"""

_DOCUMENT_SUMMARIES = """
select s.document_id::text, s.text_hash, t.embedding
from summary s join {table} t on t.node_id = s.id
where s.dataset = :dataset and s.kind = 'document_summary' and s.failure is null
order by s.document_id
"""

_MEAN_LEAVES = """
select d.id::text, avg(t.embedding)
from document d
join version_leaf vl on vl.version_id = d.current_version
join {table} t on t.node_id = vl.leaf_id
where d.dataset = :dataset and d.id = any(cast(:documents as uuid[]))
group by d.id order by d.id
"""

_STORED = """
select count(*), coalesce(sum(coalesce(l.tokens, s.tokens)), 0)
from {table} t left join leaf l on l.id = t.node_id left join summary s on s.id = t.node_id
"""


@dataclass(frozen=True, slots=True)
class PgVectors:
    """``record.VectorStore`` over pgvector."""

    db: Database

    def prepare(self, dataset: str, embedding_hash: str, dimension: int) -> None:
        """Make the table of an embedding, if there is none."""
        table = table_name(dataset, embedding_hash)
        with self.db.transaction() as db:
            if db.rows("select 1 from vector_table where name = :name", name=table):
                return
            db.run(_CREATE.format(table=table, dimension=int(dimension)))
            db.run(
                "insert into vector_table (name, dataset, embedding_hash, dimension) values (:n, :d, :e, :w)",
                n=table,
                d=dataset,
                e=embedding_hash,
                w=dimension,
            )

    def prepared(self, dataset: str, embedding_hash: str) -> bool:
        """Whether there is a table of an embedding."""
        name = table_name(dataset, embedding_hash)
        return bool(self.db.rows("select 1 from vector_table where name = :name", name=name))

    def upsert(self, dataset: str, embedding_hash: str, rows: Sequence[VectorRow], vectors: Vectors) -> None:
        """Store vectors (n, dimension), one a row."""
        if len(rows) != len(vectors):
            raise EmbeddingError(f"{len(vectors)} vectors came for {len(rows)} texts", hint="Check the embedder")
        table = table_name(dataset, embedding_hash)
        with self.db.transaction() as db:
            db.run(
                f"delete from {table} where node_id = any(cast(:ids as uuid[]))",
                ids=[r.node_id for r in rows],
            )
            db.copy(table, *_COLUMNS, _copied(rows, vectors))

    def delete(self, dataset: str, nodes: Collection[NodeId]) -> None:
        """Remove vectors of nodes from every embedding of the dataset."""
        with self.db.transaction() as db:
            for (table,) in db.rows("select name from vector_table where dataset = :d", d=dataset):
                db.run(f"delete from {table} where node_id = any(cast(:ids as uuid[]))", ids=list(nodes))

    def without_vector(
        self, dataset: str, embedding_hash: str, shards: Collection[int] | None = None
    ) -> Iterator[tuple[VectorRow, str]]:
        """(row, text) of current leaves and usable summaries that lack a vector."""
        sql = _without(dataset, embedding_hash)
        for node, kind, level, document, text in self.db.rows(sql, dataset=dataset, shards=listed(shards)):
            yield VectorRow(NodeId(node), NodeKind(kind), level, document), text

    def lacking(self, dataset: str, embedding_hash: str) -> int:
        """The number of current leaves and usable summaries that lack a vector."""
        missing = _without(dataset, embedding_hash)
        return int(self.db.rows(f"select count(*) from ({missing}) m", dataset=dataset, shards=None)[0][0])

    def document_summaries(self, dataset: str, embedding_hash: str) -> tuple[list[DocumentId], list[str], Vectors]:
        """(document ids, text hashes, vectors (n, dimension)) of all usable document summaries, by id."""
        import numpy as np

        sql = _DOCUMENT_SUMMARIES.format(table=table_name(dataset, embedding_hash))
        found = self.db.rows(sql, dataset=dataset)
        vectors = np.array([_array(row[2]) for row in found], dtype=np.float32)
        return [DocumentId(r[0]) for r in found], [r[1] for r in found], vectors

    def mean_leaves(
        self, dataset: str, embedding_hash: str, documents: Collection[DocumentId]
    ) -> tuple[list[DocumentId], Vectors]:
        """(ids, vectors (n, dimension)) of those of the documents that have leaves: the mean of these, by id."""
        import numpy as np

        sql = _MEAN_LEAVES.format(table=table_name(dataset, embedding_hash))
        found = self.db.rows(sql, dataset=dataset, documents=list(documents)) if documents else []
        return [DocumentId(r[0]) for r in found], np.array([_array(r[1]) for r in found], dtype=np.float32)

    def serving(self, dataset: str) -> str | None:
        """The embedding_hash that searches use; None before the first load."""
        found = self.db.rows("select embedding_hash from dataset where name = :d", d=dataset)
        return found[0][0] if found else None

    def stored(self, dataset: str, embedding_hash: str) -> tuple[int, int]:
        """(nodes, tokens) that have a vector of an embedding."""
        found = self.db.rows(_STORED.format(table=table_name(dataset, embedding_hash)))
        return int(found[0][0]), int(found[0][1])

    def finish_load(self, dataset: str, embedding_hash: str) -> None:
        """Index a large table; serve this embedding from now on and drop the dataset's other tables."""
        table = table_name(dataset, embedding_hash)
        with self.db.transaction() as db:
            if db.rows(f"select count(*) from {table}")[0][0] >= INDEX_FROM_ROWS:
                for statement in _INDEXES:
                    db.run(statement.format(table=table))
            db.run(
                "update dataset set embedding_hash = :e where name = :d and embedding_hash is distinct from :e",
                e=embedding_hash,
                d=dataset,
            )
        # Apart from the switch: searches that still read the former vectors are waited for, and new ones do not wait.
        with self.db.transaction() as db:
            others = db.rows(
                "delete from vector_table where dataset = :d and embedding_hash <> :e returning name",
                d=dataset,
                e=embedding_hash,
            )
            for (other,) in others:
                db.run(f"drop table {other}")


def _without(dataset: str, embedding_hash: str) -> str:
    return _WITHOUT.format(
        table=table_name(dataset, embedding_hash),
        shards=IN_SHARDS,
        either_shards=IN_SHARDS.replace("d.shard", "coalesce(d.shard, c.shard)"),
    )


def table_name(dataset: str, embedding_hash: str) -> str:
    """The vector table of a dataset and embedding: a fixed prefix and 16 hexadecimal digits."""
    return f"vector_{hashlib.sha256(digest('vectors', dataset, embedding_hash).encode()).hexdigest()[:16]}"


def _array(value: Any) -> Any:
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def _copied(rows: Sequence[VectorRow], vectors: Vectors) -> Iterator[Sequence[Any]]:
    for row, vector in zip(rows, vectors, strict=True):
        yield (
            UUID(row.node_id),
            UUID(row.document_id) if row.document_id else None,
            str(row.kind),
            row.level,
            vector,
        )
