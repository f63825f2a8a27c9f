"""Clusters, memberships and the frozen model that made them, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from overstory.adapters.postgres.database import IN_SHARDS, Database, listed
from overstory.adapters.postgres.summaries import stored_summary
from overstory.identity import ClusterId, NodeId, shard_of
from overstory.record import ClusterTree, Member, StoredModel, StoredSummary

_MEMBERS = """
select c.id::text, c.level, m.member_id::text, s.id::text, s.text_hash
from cluster c
join membership m on m.cluster_id = c.id
left join summary s on s.failure is null and (
    (c.level = 2 and s.document_id = m.member_id and s.kind = 'document_summary')
    or (c.level > 2 and s.cluster_id = m.member_id))
where c.dataset = :dataset and {which}
order by c.id, m.member_id
"""

_OF_LEVEL = f"c.level = :level and {IN_SHARDS.replace('d.', 'c.')}"

_STORED = """
select s.cluster_id::text, s.id::text, s.kind, s.ordinal, s.child_hash, s.recipe_hash, s.text_hash, s.failure
from summary s join cluster c on c.id = s.cluster_id
where c.dataset = :dataset and {which}
"""

_PRESENT = """
select c.id::text, m.member_id::text, m.weight
from cluster c left join membership m on m.cluster_id = c.id
where c.dataset = :dataset and c.level = :level
"""

_MODEL = """
select state, generation, embedding_hash from cluster_model where dataset = :dataset and level = :level
"""

_SAVE_MODEL = """
insert into cluster_model (dataset, level, generation, embedding_hash, state)
values (:dataset, :level, :generation, :embedding, :state)
on conflict (dataset, level) do update
set state = excluded.state, generation = excluded.generation, embedding_hash = excluded.embedding_hash
"""

_ADD = """
insert into cluster (id, dataset, level, kind, shard) values (:id, :dataset, :level, 'topic', :shard)
"""


@dataclass(frozen=True, slots=True)
class PostgresClusters:
    """``record.Clusters`` over Postgres."""

    db: Database

    def model(self, dataset: str, level: int) -> StoredModel | None:
        """The model of a level."""
        found = self.db.rows(_MODEL, dataset=dataset, level=level)
        return StoredModel(bytes(found[0][0]), found[0][1], found[0][2]) if found else None

    def save(
        self,
        dataset: str,
        level: int,
        model: StoredModel | None,
        memberships: Mapping[ClusterId, Sequence[tuple[str, float]]],
    ) -> list[NodeId]:
        """Store a level's model and memberships, touching what differs; returns summaries of removed clusters."""
        with self.db.transaction() as db:
            _save_model(db, dataset, level, model)
            present = _present(db, dataset, level)
            gone = [cluster for cluster in present if cluster not in memberships]
            removed = db.rows("select id::text from summary where cluster_id = any(cast(:ids as uuid[]))", ids=gone)
            db.run("delete from cluster where id = any(cast(:ids as uuid[]))", ids=gone)
            for cluster, members in memberships.items():
                if cluster not in present:
                    shard = shard_of(cluster)
                    db.run(_ADD, id=cluster, dataset=dataset, level=level, shard=shard)
                _save_members(db, cluster, present.get(cluster, {}), dict(members))
        return [NodeId(node) for (node,) in removed]

    def trees(self, dataset: str, level: int, shards: Collection[int] | None = None) -> list[ClusterTree]:
        """Clusters of a level with their members, by id."""
        scope = {"dataset": dataset, "level": level, "shards": listed(shards)}
        return cluster_trees(self.db, _OF_LEVEL, scope)

    def levels(self, dataset: str) -> list[int]:
        """Levels that have clusters, lowest first."""
        found = self.db.rows("select distinct level from cluster where dataset = :d order by 1", d=dataset)
        return [level for (level,) in found]


def cluster_trees(database: Database, which: str, scope: Mapping[str, object]) -> list[ClusterTree]:
    """Clusters with their members, by id; ``which`` is a condition on ``c``, one of our own constants."""
    with database.transaction() as db:
        members: dict[tuple[str, int], list[Member]] = {}
        for cluster, level, *member in db.rows(_MEMBERS.format(which=which), **scope):
            members.setdefault((cluster, level), []).append(Member(*member))
        found = db.rows(_STORED.format(which=which), **scope)
    stored: dict[str, StoredSummary] = {row[0]: stored_summary(row[1:]) for row in found}
    return [
        ClusterTree(ClusterId(cluster), level, shard_of(cluster), tuple(found_members), stored.get(cluster))
        for (cluster, level), found_members in members.items()
    ]


def _save_model(db: Database, dataset: str, level: int, model: StoredModel | None) -> None:
    if model is None:
        db.run("delete from cluster_model where dataset = :d and level = :l", d=dataset, l=level)
        return
    db.run(
        _SAVE_MODEL,
        dataset=dataset,
        level=level,
        state=model.state,
        generation=model.generation,
        embedding=model.embedding_hash,
    )


def _present(db: Database, dataset: str, level: int) -> dict[str, dict[str, float]]:
    present: dict[str, dict[str, float]] = {}
    for cluster, member, weight in db.rows(_PRESENT, dataset=dataset, level=level):
        members = present.setdefault(cluster, {})
        if member is not None:
            members[member] = weight
    return present


def _save_members(db: Database, cluster: str, present: Mapping[str, float], wanted: Mapping[str, float]) -> None:
    """Write the difference only: weights are compared as Postgres keeps them, in single precision."""
    gone = [member for member in present if member not in wanted]
    if gone:
        db.run(
            "delete from membership where cluster_id = :c and member_id = any(cast(:ids as uuid[]))",
            c=cluster,
            ids=gone,
        )
    for member, weight in wanted.items():
        if abs(present.get(member, 0.0) - weight) > 1e-6:
            db.run(
                "insert into membership (cluster_id, member_id, weight) values (:c, :m, :w) "
                "on conflict (cluster_id, member_id) do update set weight = excluded.weight",
                c=cluster,
                m=member,
                w=weight,
            )
