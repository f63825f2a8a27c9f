"""Mends damaged rows in Postgres."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.adapters.postgres.documents import PostgresDocuments
from overstory.adapters.postgres.leaves import PostgresLeaves
from overstory.adapters.postgres.summaries import PostgresSummaries
from overstory.identity import DocumentId, NodeId, content_hash

_STALE = "to be made again"
"""No child hash: 64 hexadecimal digits are."""

_ORPHANED_ANSWER = """
from answer a where a.dataset = :dataset and cardinality(a.sources) > 0
  and not exists (select 1 from document d where d.id = any(a.sources))
"""
"""Sources are documents and clusters: clusters come and go, an answer without a living document is of no use."""

_EMPTY_CLUSTER = """
from cluster c where c.dataset = :dataset and not exists (select 1 from membership m where m.cluster_id = c.id)
"""

_ORPHANS = f"""
select 'answer', a.child_hash {_ORPHANED_ANSWER} union all select 'cluster', c.id::text {_EMPTY_CLUSTER} order by 1, 2
"""

_LOST_MEMBERS = """
delete from membership m using cluster c
where c.id = m.cluster_id and c.dataset = :dataset and not case
    when c.level = 2 then exists (select 1 from document d where d.id = m.member_id and d.dataset = c.dataset)
    else exists (select 1 from cluster b where b.id = m.member_id and b.dataset = c.dataset and b.level = c.level - 1)
end
"""

_NOT_CURRENT = """
delete from {table} x using document_version v, document d
where v.id = x.version_id and d.id = v.document_id and d.dataset = :dataset and v.id is distinct from d.current_version
"""

_UNHELD = """
delete from leaf l using document d
where d.id = l.document_id and d.dataset = :dataset
  and not exists (select 1 from version_leaf vl where vl.leaf_id = l.id)
returning l.id::text
"""

_TEXTS = "select id::text, text from summary where id = any(cast(:ids as uuid[]))"

_MARK = "update summary set child_hash = :stale, text_hash = :hash where id = cast(:id as uuid)"

_READ_AGAIN = "update document set raw_hash = '' where id = any(cast(:ids as uuid[]))"


@dataclass(frozen=True, slots=True)
class PostgresRepairs:
    """``repairs.Repairs`` over Postgres."""

    db: Database

    def orphans(self, dataset: str) -> list[tuple[str, str]]:
        """(kind, id) of what nothing asks for: "answer" of documents that are gone, "cluster" without a member."""
        return [(kind, name) for kind, name in self.db.rows(_ORPHANS, dataset=dataset)]

    def drop_orphans(self, dataset: str) -> list[NodeId]:
        """Remove these, and memberships whose member does not exist."""
        nodes: list[NodeId] = []
        with self.db.transaction() as db:
            db.run(f"delete {_ORPHANED_ANSWER}", dataset=dataset)
            while True:
                db.run(_LOST_MEMBERS, dataset=dataset)
                empty = [name for (name,) in db.rows(f"select c.id::text {_EMPTY_CLUSTER}", dataset=dataset)]
                if not empty:
                    return nodes
                found = db.rows("select id::text from summary where cluster_id = any(cast(:ids as uuid[]))", ids=empty)
                nodes += [NodeId(node) for (node,) in found]
                db.run("delete from cluster where id = any(cast(:ids as uuid[]))", ids=empty)

    def drop_dead(self, dataset: str) -> list[NodeId]:
        """Remove leaves and sections that only versions hold which are not current, and leaves that none holds."""
        with self.db.transaction() as db:
            for table in ("version_leaf", "section"):
                db.run(_NOT_CURRENT.format(table=table), dataset=dataset)
            return [NodeId(leaf) for (leaf,) in db.rows(_UNHELD, dataset=dataset)]

    def mark_stale(self, summaries: Collection[NodeId]) -> list[NodeId]:
        """Let the next build make summaries again, and note the hash of the text that they have."""
        with self.db.transaction() as db:
            for node, text in db.rows(_TEXTS, ids=list(summaries)):
                db.run(_MARK, id=node, stale=_STALE, hash=content_hash(text))
        return list(summaries)

    def read_again(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove all versions of documents with leaves and summaries, so that the next build reads their files again.

        Their remembered answers stay: what comes out the same costs no call.
        """
        with self.db.transaction() as db:
            nodes = [*PostgresLeaves(db).known(documents), *PostgresSummaries(db).purge(documents)]
            nodes += PostgresDocuments(db).clear(documents)
            db.run(_READ_AGAIN, ids=list(documents))
        return nodes
