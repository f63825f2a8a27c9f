"""Searches in Postgres: vectors by pgvector, words by text search weighted by how rare they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa

from overstory.adapters.postgres import reading
from overstory.adapters.postgres.clusters import cluster_trees
from overstory.adapters.postgres.database import Database
from overstory.adapters.postgres.summaries import document_trees
from overstory.adapters.postgres.vectors import table_name
from overstory.adapters.postgres.words import LEAVES, PROXIES, UPPER, ranked, terms
from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.nodes import NodeKind
from overstory.record import ClusterTree, DocumentTree
from overstory.retrieval.ports import Candidate, Candidates, LeafRow, Scope, SummaryText
from overstory.tree import PASSED_THROUGH

if TYPE_CHECKING:
    from overstory.ports import Vectors

SPARE = 4
"""For so many vectors wanted one more is read: some may belong to nodes that are not served."""

_NEAREST = """
(select node_id, kind, embedding <#> :query as distance from {table} where {level}
 order by embedding <#> :query limit :fetch)
"""

_NEAR_LEAVES = """
select n.node_id::text, n.kind, -n.distance, d.id::text, coalesce(own.ordinal, s.ordinal), held.leaf_id::text, false,
       own.leaf_id is not null or (s.id is not null and d.current_version is not null)
from {nearest} n
left join leaf l on n.kind = 'leaf' and l.id = n.node_id
left join summary s on n.kind = 'chunk_summary' and s.id = n.node_id and s.failure is null
left join document d on d.id = coalesce(l.document_id, s.document_id) and d.dataset = :dataset
left join version_leaf own on own.version_id = d.current_version and own.leaf_id = l.id
left join version_leaf held on held.version_id = d.current_version and held.ordinal = s.ordinal
"""

_NEAR_SUMMARIES = """
select n.node_id::text, n.kind, -n.distance, d.id::text, s.ordinal, null, s.recipe_hash = :passed_through,
       d.current_version is not null or exists (select 1 from membership m where m.cluster_id = s.cluster_id)
from {nearest} n
left join summary s on s.id = n.node_id and s.dataset = :dataset and s.failure is null
left join document d on d.id = s.document_id
"""

_NEAREST_LEAF = """
select vl.leaf_id::text, 'leaf', -(t.embedding <#> :query), d.id::text, vl.ordinal, null, false, true
from document d
join version_leaf vl on vl.version_id = d.current_version
join {table} t on t.node_id = vl.leaf_id
where d.dataset = :dataset and d.id = any(cast(:documents as uuid[])) and vl.ordinal >= :first
  and (cast(:last as int) is null or vl.ordinal <= cast(:last as int))
order by -(t.embedding <#> :query) desc, vl.leaf_id limit 1
"""

_EMBEDDINGS = """
select d.embedding_hash, t.embedding_hash from dataset d left join vector_table t on t.dataset = d.name
where d.name = :dataset
"""


@dataclass(frozen=True, slots=True)
class PostgresSearch:
    """``retrieval.ports.SearchStore`` over Postgres."""

    db: Database

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSearch]:
        """The same store seen at one moment."""
        with self.db.transaction() as db:
            if self.db.connection is None:
                db.run("set transaction isolation level repeatable read read only")
            yield PostgresSearch(db)

    def embeddings(self, dataset: str) -> tuple[str | None, frozenset[str]]:
        """(the embedding_hash that searches use, all that have vectors)."""
        found = self.db.rows(_EMBEDDINGS, dataset=dataset)
        return (found[0][0] if found else None), frozenset(stored for _, stored in found if stored)

    def hold(self, dataset: str, embedding_hash: str) -> bool:
        """Keep the vectors of an embedding until the snapshot ends; asked first of all. False where they are gone.

        A table may be dropped at any moment, whatever a transaction has seen of it: only a lock keeps it. Taking one is
        no query, so what is seen is seen after that.
        """
        table = table_name(dataset, embedding_hash)
        with self.db.begin() as connection:
            try:
                with connection.begin_nested():
                    connection.execute(sa.text(f"lock table {table} in access share mode"))
            except sa.exc.ProgrammingError as error:
                if isinstance(error.orig, psycopg.errors.UndefinedTable):
                    return False
                raise
        return True

    def semantic(self, dataset: str, embedding_hash: str, vector: Vectors, limit: int) -> Candidates:
        """The nodes nearest to a vector of shape (dimension,), at most ``limit`` of each sort."""
        table = table_name(dataset, embedding_hash)
        leaves = _NEAR_LEAVES.format(nearest=_NEAREST.format(table=table, level="level = 0"))
        upper = _NEAR_SUMMARIES.format(nearest=_NEAREST.format(table=table, level="level > 0"))
        return Candidates(
            self._near(leaves, limit, dataset=dataset, query=vector),
            self._near(upper, limit, dataset=dataset, query=vector, passed_through=PASSED_THROUGH),
        )

    def _near(self, sql: str, limit: int, **parameters: object) -> tuple[Candidate, ...]:
        """Read more vectors until enough of them belong to nodes that are served, or there are none left."""
        fetch = limit + limit // SPARE + 1
        while True:
            rows = self.db.rows(sql, fetch=fetch, **parameters)
            served = [row for row in rows if row[-1]]
            if len(served) >= limit or len(rows) < fetch:
                return candidates(served)[:limit]
            fetch *= 4

    def full_text(self, dataset: str, query: str, language: str, limit: int) -> Candidates:
        """The nodes that hold any of the query's words, rare words first, at most ``limit`` of each sort."""
        words = terms(self.db, dataset, query, language)
        leaves = [*ranked(self.db, LEAVES, dataset, words, limit), *ranked(self.db, PROXIES, dataset, words, limit)]
        return Candidates(
            candidates(leaves)[:limit],
            candidates(ranked(self.db, UPPER, dataset, words, limit)),
        )

    def scopes(self, dataset: str, summaries: Collection[NodeId]) -> dict[NodeId, Scope]:
        """What lies beneath summaries."""
        return reading.scopes(self.db, dataset, summaries)

    def nearest_leaf(self, dataset: str, embedding_hash: str, vector: Vectors, scope: Scope) -> Candidate | None:
        """The leaf of a scope nearest to a vector of shape (dimension,)."""
        found = self.db.rows(
            _NEAREST_LEAF.format(table=table_name(dataset, embedding_hash)),
            dataset=dataset,
            query=vector,
            documents=list(scope.documents),
            first=scope.first,
            last=scope.last,
        )
        return next(iter(candidates(found)), None)

    def leaves_of(self, dataset: str, documents: Collection[DocumentId]) -> dict[DocumentId, tuple[NodeId, ...]]:
        """Ids of the leaves of documents' current versions, in order."""
        return reading.leaves_of(self.db, dataset, documents)

    def leaf_rows(self, dataset: str, leaves: Collection[NodeId]) -> dict[NodeId, LeafRow]:
        """Leaves of current versions."""
        return reading.leaf_rows(self.db, dataset, leaves)

    def summary_rows(self, dataset: str, summaries: Collection[NodeId]) -> dict[NodeId, SummaryText]:
        """Stored summaries, failed ones too."""
        return reading.summary_rows(self.db, dataset, summaries)

    def document_trees(self, dataset: str, documents: Collection[DocumentId]) -> list[DocumentTree]:
        """Documents with a current version, with leaves, sections and stored summaries, by id."""
        scope = {"dataset": dataset, "documents": list(documents)}
        return document_trees(self.db, "d.id = any(cast(:documents as uuid[]))", scope, with_leaves=True)

    def cluster_trees(self, dataset: str, clusters: Collection[ClusterId]) -> list[ClusterTree]:
        """Clusters with their members, by id; one that has lost all of them is none."""
        scope = {"dataset": dataset, "clusters": list(clusters)}
        found = cluster_trees(self.db, "c.id = any(cast(:clusters as uuid[]))", scope)
        return [tree for tree in found if tree.members]

    def changed(self, dataset: str, documents: Collection[DocumentId], chunk_recipe: str) -> frozenset[DocumentId]:
        """Documents with a version newer than their current one, or with leaves cut by another recipe."""
        return reading.changed(self.db, dataset, documents, chunk_recipe)

    def identify(self, dataset: str, name: str) -> list[tuple[str, str]]:
        """(what, id) of nodes, documents and clusters whose id begins with ``name`` or whose path it is; at most 8."""
        return reading.identify(self.db, dataset, name)

    def clusters_of(self, dataset: str, members: Sequence[str]) -> dict[str, list[ClusterId]]:
        """The clusters that each document or cluster is a member of, by id."""
        return reading.clusters_of(self.db, dataset, members)


def candidates(rows: Sequence[Any]) -> tuple[Candidate, ...]:
    """Rows (id, kind, score, document, ordinal, leaf, passed through, ...) as candidates, best first, ties by id."""
    found = [
        Candidate(NodeId(node), NodeKind(kind), float(score), document, ordinal, leaf, passed)
        for node, kind, score, document, ordinal, leaf, passed, *_ in rows
    ]
    return tuple(sorted(found, key=lambda candidate: (-candidate.score, candidate.node_id)))
