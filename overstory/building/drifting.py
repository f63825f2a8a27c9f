"""How far the clusters have drifted from today's documents; reads only, and makes no cluster anew."""

from __future__ import annotations

from overstory.building.context import BuildContext
from overstory.building.memberships import FIRST_LEVEL, stand_ins
from overstory.clustering import ClusterModel, Drift, Member, drift


def measure_drift(ctx: BuildContext) -> Drift | None:
    """The drift of the clusters of documents as the last build left them; None where there are none.

    It is measured by the embedder that the clusters were made with. A document whose summary or vector is missing for
    now counts as well placed, and one that no build has placed yet does not count.
    """
    stored = ctx.record.clusters.model(ctx.name, FIRST_LEVEL)
    if stored is None or not ctx.record.vectors.prepared(ctx.name, stored.embedding_hash):
        return None
    model = ClusterModel.from_bytes(stored.state)
    if not model.ids:
        return None
    return drift(model, _placed(ctx, model, stored.embedding_hash) if len(model.ids) > 1 else [])


def _placed(ctx: BuildContext, model: ClusterModel, embedding_hash: str) -> list[Member]:
    """Exactly the members of the model."""
    ids, hashes, vectors = ctx.record.vectors.document_summaries(ctx.name, embedding_hash)
    members = [Member(*found) for found in zip(ids, vectors, hashes, strict=True) if found[0] in model.hashes]
    return members + stand_ins(model, members, model.hashes.keys())
