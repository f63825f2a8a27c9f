"""Moves a model into the space of another embedder: who belongs together stays, the geometry is measured anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from overstory.clustering.draft import Draft
from overstory.clustering.fit import freeze
from overstory.clustering.model import ClusterModel, Member, Weights, rosters_of
from overstory.clustering.rule import calibrate, nearest
from overstory.clustering.space import Space, build_space
from overstory.identity import ClusterId


def reembed(model: ClusterModel, members: Sequence[Member]) -> ClusterModel:
    """The same clusters with centroids, gates and margin from new vectors; no child_hash changes.

    A member without a new vector stays in its clusters; a cluster that has no other member is gone.

    Args:
        model: Clusters in the former space.
        members: Members with their new vectors (d,), of one length; those the model does not know are left to
            ``update``.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
        ValueError: The model knows none of the members: fit them anew.
    """
    known = [member for member in members if member.id in model.memberships]
    if not known:
        raise ValueError("no member of the clusters has a new vector")
    space = build_space(known, model.parameters.dimensions)
    draft = _draft(model, space)
    draft.reshape(draft.rosters)
    if len(draft.rosters) > 1:
        ids = sorted(draft.shapes)
        near = nearest(space.points, np.stack([draft.shapes[c].centroid for c in ids]), model.parameters)
        gates = np.array([draft.shapes[c].gate for c in ids])
        draft.margin = calibrate(near, gates, model.parameters.mean_for(len(space.ids)))
        draft.weigh_again(space.ids)
    moved = freeze(space, draft, model.parameters, {})
    memberships = {**_held(model, moved.rosters), **moved.memberships}
    return replace(
        moved,
        memberships=memberships,
        hashes={member: model.hashes[member] for member in memberships},
        rosters=rosters_of(moved.ids, memberships),
        memo=model.memo,
        fitted=model.fitted,
        turned=model.turned,
        twins=frozenset(pair for pair in model.twins if moved.rosters.keys() >= set(pair)),
    )


def _held(model: ClusterModel, living: Mapping[ClusterId, frozenset[str]]) -> dict[str, Weights]:
    """The former memberships in the clusters that live on."""
    found: dict[str, Weights] = {}
    for member, weights in model.memberships.items():
        kept = [(cluster, weight) for cluster, weight in weights if cluster in living]
        total = sum(weight for _, weight in kept)
        if kept:
            found[member] = tuple((cluster, weight / total) for cluster, weight in kept)
    return found


def _draft(model: ClusterModel, space: Space) -> Draft:
    """The model's memberships of the members that are present."""
    memberships = {member: model.memberships[member] for member in space.ids}
    rosters = {cluster: frozenset(roster & memberships.keys()) for cluster, roster in model.rosters.items()}
    return Draft(
        naming=model.naming,
        margin=model.margin,
        gate_quantile=model.parameters.gate_quantile,
        points=space.of,
        shapes={},
        rosters={cluster: roster for cluster, roster in rosters.items() if roster},
        memberships=memberships,
    )
