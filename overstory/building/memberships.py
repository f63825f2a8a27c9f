"""Memberships: which documents share a cluster, changed only where a summary changed."""

from __future__ import annotations

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
from overstory.identity import shard_of
from overstory.record import Record, StoredModel

STAGE = "memberships"
FIRST_LEVEL = 2


@timed
def update_memberships(ctx: BuildContext) -> StageReport:
    """Place new and changed documents among the frozen clusters, and clusters among those above them."""
    report = StageReport(STAGE)
    embedding = ctx.embedder.embedding_hash
    ids, hashes, vectors = ctx.record.vectors.document_summaries(ctx.name, embedding)
    members = [Member(*member) for member in zip(ids, vectors, hashes, strict=True)]
    models = _levels(ctx, members)
    with ctx.record.transaction() as record:
        for model in models:
            _save(ctx, record, model.level, model, report)
        for leftover in record.clusters.levels(ctx.name):
            if leftover not in {model.level for model in models}:
                _save(ctx, record, leftover, None, report)
    return report


def _levels(ctx: BuildContext, members: list[Member]) -> list[ClusterModel]:
    """The models of all levels, lowest first; a level without clusters ends the tree."""
    models: list[ClusterModel] = []
    model: ClusterModel | None = _documents_level(ctx, members)
    while model is not None and model.ids:
        models.append(model)
        above_it = model.level + 1
        model = _level_above(ctx, model, above_it) if above_it <= ctx.dataset.clusters.max_level else None
    return models


def _documents_level(ctx: BuildContext, members: list[Member]) -> ClusterModel:
    """The model of level 2 after this build's changes."""
    parameters = cluster_parameters(ctx.dataset.clusters)
    stored = ctx.record.clusters.model(ctx.name, FIRST_LEVEL)
    if stored is None:
        return fit(members, parameters, namespace=ctx.name, generation=1, level=FIRST_LEVEL)
    model = ClusterModel.from_bytes(stored.state)
    if stored.embedding_hash != ctx.embedder.embedding_hash:
        model = reembed(model, members)
    if model.parameters != parameters:
        model = recluster(model, members, parameters)
    present = {member.id for member in members}
    gone = [member for member in model.hashes if member not in present]
    vectors = {member.id: member.vector for member in members}
    return update(model, upserts=members, deletes=gone, current=vectors).model


def _level_above(ctx: BuildContext, below: ClusterModel, level: int) -> ClusterModel | None:
    """The clusters over a level's frozen centroids: they change only when clusters come or go."""
    names = {cluster: str(cluster) for cluster in below.ids}
    stored = ctx.record.clusters.model(ctx.name, level)
    if stored is None or stored.embedding_hash != ctx.embedder.embedding_hash:
        return fit_above(below, names, generation=stored.generation + 1 if stored else 1)
    model = ClusterModel.from_bytes(stored.state)
    if model.parameters != above(below.parameters):
        return fit_above(below, names, generation=model.generation + 1)
    members = centroids_as_members(below, names)
    gone = [member for member in model.hashes if member not in names]
    vectors = {member.id: member.vector for member in members}
    model = update(model, upserts=members, deletes=gone, current=vectors).model
    return model if 2 * len(model.ids) <= len(below.ids) else None


def _save(ctx: BuildContext, record: Record, level: int, model: ClusterModel | None, report: StageReport) -> None:
    """Write a level's model where it differs from the stored one, and forget the clusters that are gone."""
    stored = record.clusters.model(ctx.name, level)
    new = None
    if model is not None:
        new = StoredModel(model.to_bytes(), model.generation, ctx.embedder.embedding_hash)
    trees = {tree.cluster_id: tree for tree in record.clusters.trees(ctx.name, level)}
    wanted = {cluster: model.members(cluster) for cluster in model.ids} if model else {}
    for cluster in wanted:
        before = {m.member_id for m in trees[cluster].members} if cluster in trees else None
        same = before == {member for member, _ in wanted[cluster]}
        tally = report.shards[shard_of(cluster)]
        tally.unchanged += same
        tally.written += not same
    for cluster in trees.keys() - wanted.keys():
        report.shards[shard_of(cluster)].deleted += 1
    if new != stored:
        record.vectors.delete(ctx.name, record.clusters.save(ctx.name, level, new, wanted))
