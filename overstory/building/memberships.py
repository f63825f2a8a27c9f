"""Memberships: which documents share a cluster, changed only where a summary changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from overstory.building.context import BuildContext, timed
from overstory.building.parameters import cluster_parameters
from overstory.building.report import StageReport
from overstory.clustering import (
    ClusterModel,
    Member,
    above,
    centroids_as_members,
    fit,
    fit_above,
    recluster,
    update,
)
from overstory.clustering.reembedding import reembed
from overstory.identity import ClusterId, DocumentId, shard_of
from overstory.record import Record, StoredModel

STAGE = "memberships"
FIRST_LEVEL = 2


@timed
def update_memberships(ctx: BuildContext) -> StageReport:
    """Place new and changed documents among the frozen clusters, and clusters among those above them."""
    report = StageReport(STAGE)
    embedding = ctx.embedder.embedding_hash
    stored = ctx.record.clusters.model(ctx.name, FIRST_LEVEL)
    if stored is not None and stored.embedding_hash != embedding and ctx.record.vectors.lacking(ctx.name, embedding):
        report.notes.append("Clusters stay as they are until every node is embedded by the new embedder")
        return report
    if not ctx.record.vectors.prepared(ctx.name, embedding):
        return report  # Nothing has been embedded yet.
    ids, hashes, vectors = ctx.record.vectors.document_summaries(ctx.name, embedding)
    members = [Member(*member) for member in zip(ids, vectors, hashes, strict=True)]
    models = _levels(ctx, stored, members)
    with ctx.record.transaction() as record:
        for model in models:
            _save(ctx, record, model.level, model, report)
        for leftover in record.clusters.levels(ctx.name):
            if leftover not in {model.level for model in models}:
                _save(ctx, record, leftover, None, report)
    return report


def _levels(ctx: BuildContext, stored: StoredModel | None, members: list[Member]) -> list[ClusterModel]:
    """The models of all levels, lowest first; a level without clusters ends the tree."""
    models: list[ClusterModel] = []
    model: ClusterModel | None = _documents_level(ctx, stored, members)
    while model is not None and model.ids:
        models.append(model)
        above_it = model.level + 1
        model = _level_above(ctx, model, above_it) if above_it <= ctx.dataset.clusters.max_level else None
    return models


def _documents_level(ctx: BuildContext, stored: StoredModel | None, members: list[Member]) -> ClusterModel:
    """The model of level 2 after this build's changes.

    Only a document that is gone leaves its clusters: one whose summary or vector is missing for now keeps its place.
    """
    parameters = cluster_parameters(ctx.dataset.clusters)
    if stored is None:
        return fit(members, parameters, namespace=ctx.name, generation=1, level=FIRST_LEVEL)
    model = ClusterModel.from_bytes(stored.state)
    if stored.embedding_hash != ctx.embedder.embedding_hash:
        seen = members + _by_leaves(ctx, model, members)
        if not any(member.id in model.memberships for member in seen):
            return fit(members, parameters, namespace=ctx.name, generation=model.generation + 1, level=FIRST_LEVEL)
        model = reembed(model, seen)
    members = members + stand_ins(
        model, members, {row.id for row in ctx.record.documents.rows(ctx.name) if row.content_hash}
    )
    if model.parameters != parameters:
        model = recluster(model, members, parameters)
    return _updated(model, members)


def _by_leaves(ctx: BuildContext, model: ClusterModel, members: Sequence[Member]) -> list[Member]:
    """Members of the clusters that have no summary to embed: each is where its leaves are on average."""
    absent = model.memberships.keys() - {member.id for member in members}
    documents = [DocumentId(member) for member in sorted(absent)]
    ids, vectors = ctx.record.vectors.mean_leaves(ctx.name, ctx.embedder.embedding_hash, documents)
    return [Member(m, vector, model.hashes[m]) for m, vector in zip(ids, vectors, strict=True)]


def stand_ins(model: ClusterModel, members: Sequence[Member], documents: Collection[str]) -> list[Member]:
    """Documents whose summary or vector is missing for now: each stands where its best cluster does."""
    centroids = {center.id: center.vector for center in centroids_as_members(model, dict.fromkeys(model.ids, ""))}
    absent = model.memberships.keys() & set(documents) - {member.id for member in members}
    return [Member(m, centroids[model.memberships[m][0][0]], model.hashes[m]) for m in sorted(absent)]


def _updated(model: ClusterModel, members: Sequence[Member]) -> ClusterModel:
    """The model of exactly these members."""
    vectors = {member.id: member.vector for member in members}
    gone = [member for member in model.hashes if member not in vectors]
    return update(model, upserts=members, deletes=gone, current=vectors).model


def _level_above(ctx: BuildContext, below: ClusterModel, level: int) -> ClusterModel | None:
    """The clusters over a level's frozen centroids: they change only when clusters come or go."""
    names = {cluster: str(cluster) for cluster in below.ids}
    stored = ctx.record.clusters.model(ctx.name, level)
    if stored is None:
        return fit_above(below, names)
    model = ClusterModel.from_bytes(stored.state)
    members = centroids_as_members(below, names)
    known = any(member.id in model.memberships for member in members)
    if not known or model.parameters != above(below.parameters):
        return _fit_above(below, names, model.generation + 1)
    if stored.embedding_hash != ctx.embedder.embedding_hash:
        model = reembed(model, members)
    model = _updated(model, members)
    staircase = 2 * len(model.ids) > len(below.ids)
    return _fit_above(below, names, model.generation + 1) if staircase else model


def _fit_above(below: ClusterModel, names: Mapping[ClusterId, str], generation: int) -> ClusterModel | None:
    """The level above, fitted anew; where it gives none, what the next build will make of finding none."""
    return fit_above(below, names, generation=generation) or fit_above(below, names)


def _save(ctx: BuildContext, record: Record, level: int, model: ClusterModel | None, report: StageReport) -> None:
    """Bring a level's rows in line with its model, whatever became of them since, and count what differed."""
    new = None
    if model is not None:
        new = StoredModel(model.to_bytes(), model.generation, ctx.embedder.embedding_hash)
    wanted = {cluster: model.members(cluster) for cluster in model.ids} if model else {}
    changes = record.clusters.changes(ctx.name, level, wanted)
    for cluster in wanted:
        tally = report.shards[shard_of(cluster)]
        tally.unchanged += cluster not in changes.written
        tally.written += cluster in changes.written
    for cluster in changes.removed:
        report.shards[shard_of(cluster)].deleted += 1
    removed = record.clusters.save(ctx.name, level, new, wanted)
    if removed:
        record.vectors.delete(ctx.name, removed)
