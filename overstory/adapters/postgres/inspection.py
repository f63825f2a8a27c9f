"""What Postgres holds, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.inspection import HeldLeaf, HeldMembership, HeldSection, HeldSummary, HeldVector

_LEAVES = """
select l.id::text, l.document_id::text, vl.version_id::text,
       coalesce(vl.version_id = d.current_version, false), coalesce(vl.ordinal, 0), l.context || l.text, l.content_hash
from leaf l
join document d on d.id = l.document_id
left join version_leaf vl on vl.leaf_id = l.id
where d.dataset = :dataset
order by vl.version_id, vl.ordinal
"""

_SECTIONS = """
select d.id::text, s.version_id::text, coalesce(s.version_id = d.current_version, false), s.ordinal, s.first_leaf,
       s.last_leaf
from section s
join document_version v on v.id = s.version_id
join document d on d.id = v.document_id
where d.dataset = :dataset
order by s.version_id, s.ordinal
"""

_SUMMARIES = """
select s.id::text, s.kind, s.level, s.document_id::text, s.cluster_id::text, s.ordinal, s.text, s.text_hash,
       s.child_hash, s.failure, s.fact_check is not null,
       s.document_id is not null and (v.current_at is null or s.made_at < v.current_at)
from summary s
left join document d on d.id = s.document_id
left join document_version v on v.id = d.current_version
where s.dataset = :dataset
order by s.id
"""

_MEMBERSHIPS = """
select c.id::text, c.level, m.member_id::text,
       case when c.level = 2
            then exists (select 1 from document d where d.id = m.member_id and d.dataset = c.dataset)
            else exists (select 1 from cluster b where b.id = m.member_id and b.dataset = c.dataset
                         and b.level = c.level - 1)
       end
from cluster c join membership m on m.cluster_id = c.id
where c.dataset = :dataset
order by c.id, m.member_id
"""

_TABLES = "select name, embedding_hash from vector_table where dataset = :dataset order by embedding_hash"

_VECTORS = "select node_id::text, :embedding, kind, level, document_id::text from {table} order by node_id"


@dataclass(frozen=True, slots=True)
class PostgresInspection:
    """``inspection.Inspection`` over Postgres."""

    db: Database

    def leaves(self, dataset: str) -> list[HeldLeaf]:
        """Every leaf, once for each version that holds it, by version and place."""
        return [HeldLeaf(*row) for row in self.db.rows(_LEAVES, dataset=dataset)]

    def sections(self, dataset: str) -> list[HeldSection]:
        """Every section, by version and place."""
        return [HeldSection(*row) for row in self.db.rows(_SECTIONS, dataset=dataset)]

    def summaries(self, dataset: str) -> list[HeldSummary]:
        """Every summary, failed ones too, by id."""
        return [HeldSummary(*row) for row in self.db.rows(_SUMMARIES, dataset=dataset)]

    def memberships(self, dataset: str) -> list[HeldMembership]:
        """Every membership, by cluster and member."""
        return [HeldMembership(*row) for row in self.db.rows(_MEMBERSHIPS, dataset=dataset)]

    def vectors(self, dataset: str) -> list[HeldVector]:
        """Every vector of every embedding, by embedding and node."""
        found: list[HeldVector] = []
        for table, embedding in self.db.rows(_TABLES, dataset=dataset):
            found += [HeldVector(*row) for row in self.db.rows(_VECTORS.format(table=table), embedding=embedding)]
        return found
