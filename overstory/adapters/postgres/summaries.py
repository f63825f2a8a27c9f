"""Summaries of every kind, and the answers that were paid for, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from overstory.adapters.postgres.database import IN_SHARDS, Database, listed
from overstory.identity import DocumentId, NodeId, VersionId
from overstory.nodes import NodeKind
from overstory.record import DocumentTree, SectionRow, StoredSummary, SummaryRow

_SUMMARY = (
    [
        "id",
        "dataset",
        "kind",
        "level",
        "document_id",
        "cluster_id",
        "ordinal",
        "text",
        "text_hash",
        "child_hash",
        "recipe_hash",
        "failure",
        "tokens",
        "fact_check",
        "language",
    ],
    [
        "uuid",
        "text",
        "text",
        "int2",
        "uuid",
        "uuid",
        "int4",
        "text",
        "text",
        "text",
        "text",
        "text",
        "int4",
        "jsonb",
        "oid",
    ],
)

_TREES = """
select d.id::text, d.path, d.title, d.shard, v.id::text, v.number, v.child_hash,
       (select count(*) from version_leaf vl where vl.version_id = v.id), v.reextracted
from document d join document_version v on v.id = d.current_version
where d.dataset = :dataset and {which}
order by d.id
"""

_SECTIONS = """
select s.version_id::text, s.ordinal, s.first_leaf, s.last_leaf, s.heading, s.child_hash
from document d join section s on s.version_id = d.current_version
where d.dataset = :dataset and {which}
order by s.version_id, s.ordinal
"""

_LEAVES = """
select vl.version_id::text, l.id::text, l.content_hash
from document d join version_leaf vl on vl.version_id = d.current_version join leaf l on l.id = vl.leaf_id
where d.dataset = :dataset and {which}
order by vl.version_id, vl.ordinal
"""

_STORED = """
select s.document_id::text, s.id::text, s.kind, s.ordinal, s.child_hash, s.recipe_hash, s.text_hash, s.failure
from summary s join document d on d.id = s.document_id
where s.dataset = :dataset and {which}
"""

_FACTS_KEPT = """
select cast(s.fact_check ->> 'facts' as int), cast(s.fact_check ->> 'kept' as int)
from summary s left join document d on d.id = s.document_id left join cluster c on c.id = s.cluster_id
where s.dataset = :dataset and s.kind = :kind and s.failure is null and s.fact_check is not null
  and (cast(:shards as int[]) is null or coalesce(d.shard, c.shard) = any(cast(:shards as int[])))
"""

_ANSWERS = """
select a.child_hash, a.recipe_hash, a.text
from answer a
join unnest(cast(:children as text[]), cast(:recipes as text[])) as k (child_hash, recipe_hash)
  on a.child_hash = k.child_hash and a.recipe_hash = k.recipe_hash
where a.dataset = :dataset
"""

_REMEMBER = """
with recursive below (id) as (
    select cast(:owner as uuid) where cast(:owner as text) is not null
    union
    select m.member_id from membership m join below b on m.cluster_id = b.id
)
insert into answer (dataset, child_hash, recipe_hash, text, sources)
values (:dataset, :child_hash, :recipe_hash, :text, array(select id from below))
on conflict do nothing
"""


@dataclass(frozen=True, slots=True)
class PostgresSummaries:
    """``record.Summaries`` over Postgres."""

    db: Database

    def purge(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove all summaries of documents; returns their ids."""
        found = self.db.rows(
            "delete from summary where document_id = any(cast(:ids as uuid[])) returning id::text",
            ids=list(documents),
        )
        return [NodeId(node) for (node,) in found]

    def trees(
        self, dataset: str, shards: Collection[int] | None = None, *, with_leaves: bool = False
    ) -> list[DocumentTree]:
        """Documents with a current version, by id."""
        scope = {"dataset": dataset, "shards": listed(shards)}
        return document_trees(self.db, IN_SHARDS, scope, with_leaves=with_leaves)

    def texts(self, nodes: Collection[NodeId]) -> dict[NodeId, str]:
        """Texts of summaries."""
        found = self.db.rows("select id::text, text from summary where id = any(cast(:ids as uuid[]))", ids=list(nodes))
        return {NodeId(node): text for node, text in found}

    def facts_kept(self, dataset: str, kind: NodeKind, shards: Collection[int] | None = None) -> list[tuple[int, int]]:
        """(facts of the source, those kept) of each usable summary of a kind."""
        found = self.db.rows(_FACTS_KEPT, dataset=dataset, kind=kind.value, shards=listed(shards))
        return [(facts, kept) for facts, kept in found]

    def save(self, dataset: str, rows: Sequence[SummaryRow], language: str) -> None:
        """Insert or replace summaries."""
        with self.db.transaction() as db:
            oid = db.language_oid(language)
            self._delete(db, [row.id for row in rows])
            db.copy("summary", *_SUMMARY, _copied(dataset, rows, oid))

    def delete(self, nodes: Collection[NodeId]) -> None:
        """Remove summaries."""
        self._delete(self.db, list(nodes))

    @staticmethod
    def _delete(db: Database, nodes: Sequence[NodeId]) -> None:
        db.run("delete from summary where id = any(cast(:ids as uuid[]))", ids=list(nodes))

    def answers(self, dataset: str, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Remembered texts by (child_hash, recipe_hash)."""
        children, recipes = [k[0] for k in keys], [k[1] for k in keys]
        found = self.db.rows(_ANSWERS, dataset=dataset, children=children, recipes=recipes)
        return {(child, recipe): text for child, recipe, text in found}

    def remember(
        self, dataset: str, answers: Mapping[tuple[str, str], str], owners: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        """Keep paid texts by (child_hash, recipe_hash) for as long as every document beneath their owner lives."""
        with self.db.transaction() as db:
            for (child, recipe), text in answers.items():
                owner = (owners or {}).get((child, recipe))
                db.run(_REMEMBER, dataset=dataset, child_hash=child, recipe_hash=recipe, text=text, owner=owner)


def document_trees(
    database: Database, which: str, scope: Mapping[str, object], *, with_leaves: bool
) -> list[DocumentTree]:
    """Documents with a current version, by id; ``which`` is a condition on ``d``, one of our own constants."""
    with database.transaction() as db:
        found = db.rows(_TREES.format(which=which), **scope)
        sections = _grouped(db.rows(_SECTIONS.format(which=which), **scope), lambda row: SectionRow(*row[1:]))
        leaves = _grouped(db.rows(_LEAVES.format(which=which), **scope), lambda r: (r[1], r[2])) if with_leaves else {}
        stored = _grouped(db.rows(_STORED.format(which=which), **scope), lambda row: stored_summary(row[1:]))
    return [
        DocumentTree(
            document_id=DocumentId(document),
            path=path,
            title=title,
            shard=shard,
            version_id=VersionId(version),
            version_number=number,
            child_hash=child_hash,
            leaf_count=count,
            sections=tuple(sections.get(version, ())),
            leaves=tuple(leaves.get(version, ())),
            stored={summary.id: summary for summary in stored.get(document, ())},
            reextracted=reextracted,
        )
        for document, path, title, shard, version, number, child_hash, count, reextracted in found
    ]


def stored_summary(row: Sequence[Any]) -> StoredSummary:
    """A row (id, kind, ordinal, child_hash, recipe_hash, text_hash, failure) as a value."""
    node, kind, ordinal, child_hash, recipe_hash, text_hash, failure = row
    return StoredSummary(NodeId(node), NodeKind(kind), ordinal, child_hash, recipe_hash, text_hash, failure)


def _grouped(rows: Sequence[Any], make: Any) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(make(row))
    return groups


def _copied(dataset: str, rows: Sequence[SummaryRow], language: int) -> Iterator[Sequence[Any]]:
    for row in rows:
        yield (
            UUID(row.id),
            dataset,
            str(row.kind),
            row.level,
            UUID(row.document_id) if row.document_id else None,
            UUID(row.cluster_id) if row.cluster_id else None,
            row.ordinal,
            row.text,
            row.text_hash,
            row.child_hash,
            row.recipe_hash,
            row.failure,
            row.tokens,
            None if row.fact_check is None else Jsonb(row.fact_check),
            language,
        )
