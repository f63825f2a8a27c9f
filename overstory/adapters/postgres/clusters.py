"""Clusters, memberships and the frozen model that made them, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from overstory.adapters.postgres.database import IN_SHARDS, Database, listed
from overstory.adapters.postgres.summaries import stored_summary
from overstory.identity import ClusterId, NodeId, shard_of
from overstory.record import ClusterChanges, ClusterTree, Member, StoredModel, StoredSummary

_MEMBERS = """
select c.id::text, c.level, m.member_id::text, s.id::text, s.text_hash
from cluster c
left join membership m on m.cluster_id = c.id
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
where (cluster_model.state, cluster_model.generation, cluster_model.embedding_hash)
    is distinct from (excluded.state, excluded.generation, excluded.embedding_hash)
"""

_CLUSTER = (("id", "dataset", "level", "kind", "shard"), ("uuid", "text", "int2", "text", "int2"))

_MEMBERSHIP = (("cluster_id", "member_id", "weight"), ("uuid", "uuid", "float4"))

_LEAVE = """
delete from membership m
using unnest(cast(:clusters as uuid[]), cast(:members as uuid[])) as gone (cluster_id, member_id)
where m.cluster_id = gone.cluster_id and m.member_id = gone.member_id
"""

_WEIGH = """
update membership m set weight = new.weight
from unnest(cast(:clusters as uuid[]), cast(:members as uuid[]), cast(:weights as real[]))
    as new (cluster_id, member_id, weight)
where m.cluster_id = new.cluster_id and m.member_id = new.member_id
"""

_LEVELS = """
select level from cluster where dataset = :dataset union select level from cluster_model where dataset = :dataset
order by 1
"""

_SAME_WEIGHT = 1e-6
"""Postgres keeps weights in single precision."""


@dataclass(frozen=True, slots=True)
class PostgresClusters:
    """``record.Clusters`` over Postgres."""

    db: Database

    def model(self, dataset: str, level: int) -> StoredModel | None:
        """The model of a level."""
        found = self.db.rows(_MODEL, dataset=dataset, level=level)
        return StoredModel(bytes(found[0][0]), found[0][1], found[0][2]) if found else None

    def changes(
        self, dataset: str, level: int, memberships: Mapping[ClusterId, Sequence[tuple[str, float]]]
    ) -> ClusterChanges:
        """What ``save`` would write and remove, given these memberships."""
        present = _present(self.db, dataset, level)
        differing = _difference(present, memberships).clusters | (memberships.keys() - present.keys())
        return ClusterChanges(
            frozenset(map(ClusterId, differing)), frozenset(map(ClusterId, present.keys() - memberships.keys()))
        )

    def save(
        self,
        dataset: str,
        level: int,
        model: StoredModel | None,
        memberships: Mapping[ClusterId, Sequence[tuple[str, float]]],
    ) -> list[NodeId]:
        """Store a level's model and memberships, touching what differs; returns summaries of removed clusters."""
        with self.db.transaction() as db:
            if self.model(dataset, level) != model:
                _save_model(db, dataset, level, model)
            present = _present(db, dataset, level)
            gone = [cluster for cluster in present if cluster not in memberships]
            removed = db.rows("select id::text from summary where cluster_id = any(cast(:ids as uuid[]))", ids=gone)
            db.run("delete from cluster where id = any(cast(:ids as uuid[]))", ids=gone)
            born = [cluster for cluster in memberships if cluster not in present]
            rows = ((UUID(cluster), dataset, level, "topic", shard_of(cluster)) for cluster in born)
            db.copy("cluster", *_CLUSTER, rows)
            _save_members(db, _difference(present, memberships))
        return [NodeId(node) for (node,) in removed]

    def trees(self, dataset: str, level: int, shards: Collection[int] | None = None) -> list[ClusterTree]:
        """Clusters of a level with their members, by id; also those that have lost all of them."""
        scope = {"dataset": dataset, "level": level, "shards": listed(shards)}
        return cluster_trees(self.db, _OF_LEVEL, scope)

    def levels(self, dataset: str) -> list[int]:
        """Levels that have clusters or a model of them, lowest first."""
        return [level for (level,) in self.db.rows(_LEVELS, dataset=dataset)]


def cluster_trees(database: Database, which: str, scope: Mapping[str, object]) -> list[ClusterTree]:
    """Clusters with their members, by id; ``which`` is a condition on ``c``, one of our own constants."""
    with database.transaction() as db:
        members: dict[tuple[str, int], list[Member]] = {}
        for cluster, level, *member in db.rows(_MEMBERS.format(which=which), **scope):
            held = members.setdefault((cluster, level), [])
            if member[0] is not None:
                held.append(Member(*member))
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


@dataclass(slots=True)
class _Difference:
    """Memberships (cluster, member) to write and to remove."""

    new: dict[tuple[str, str], float] = field(default_factory=dict)
    weighed: dict[tuple[str, str], float] = field(default_factory=dict)
    gone: list[tuple[str, str]] = field(default_factory=list)

    @property
    def clusters(self) -> set[str]:
        """Clusters that have one of them."""
        return {cluster for cluster, _ in (*self.new, *self.weighed, *self.gone)}


def _difference(
    present: Mapping[str, Mapping[str, float]], wanted: Mapping[ClusterId, Sequence[tuple[str, float]]]
) -> _Difference:
    """What differs in the wanted clusters; the memberships of the others go with them."""
    found = _Difference()
    for cluster, members in wanted.items():
        held = present.get(cluster, {})
        for member, weight in members:
            if member not in held:
                found.new[cluster, member] = weight
            elif abs(held[member] - weight) > _SAME_WEIGHT:
                found.weighed[cluster, member] = weight
        found.gone += [(cluster, member) for member in held.keys() - dict(members).keys()]
    return found


def _save_members(db: Database, difference: _Difference) -> None:
    """Write a difference with three statements, however many memberships it holds."""
    if difference.gone:
        clusters, members = _columns(difference.gone)
        db.run(_LEAVE, clusters=clusters, members=members)
    if difference.weighed:
        clusters, members = _columns(difference.weighed)
        db.run(_WEIGH, clusters=clusters, members=members, weights=list(difference.weighed.values()))
    db.copy("membership", *_MEMBERSHIP, _copied(difference.new))


def _columns(pairs: Collection[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [cluster for cluster, _ in pairs], [member for _, member in pairs]


def _copied(memberships: Mapping[tuple[str, str], float]) -> Iterator[tuple[UUID, UUID, float]]:
    for (cluster, member), weight in memberships.items():
        yield UUID(cluster), UUID(member), weight
