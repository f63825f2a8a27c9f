"""Moves a model into the space of another embedder: who belongs together stays, the geometry is measured anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from overstory.clustering.draft import Draft
from overstory.clustering.fit import freeze
from overstory.clustering.model import ClusterModel, Member, rosters_of
from overstory.clustering.rule import calibrate, nearest
from overstory.clustering.space import Space, build_space


def reembed(model: ClusterModel, members: Sequence[Member]) -> ClusterModel:
    """The same clusters with centroids, gates and margin from new vectors; no child_hash changes.

    A member without a new vector stays in its clusters. A cluster that has no other member stays too, where nothing is
    near it: it admits nobody until it is fitted anew.

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
    moved = _with_lost(model, freeze(space, draft, model.parameters, {}))
    memberships = {**model.memberships, **moved.memberships}
    return replace(
        moved,
        memberships=memberships,
        hashes={member: model.hashes[member] for member in memberships},
        rosters=rosters_of(moved.ids, memberships),
        memo=model.memo,
        fitted=model.fitted,
        turned=model.turned,
        twins=model.twins,
    )


def _with_lost(model: ClusterModel, moved: ClusterModel) -> ClusterModel:
    """The moved clusters and those without any new vector, by id: these have no direction and a gate nobody passes."""
    lost = set(model.ids) - set(moved.ids)
    if not lost:
        return moved
    ids = tuple(sorted((*moved.ids, *lost)))
    living = np.array([cluster not in lost for cluster in ids])
    centroids, gates = np.zeros((len(ids), moved.centroids.shape[1])), np.ones(len(ids))
    centroids[living], gates[living] = moved.centroids, moved.gates
    return replace(moved, ids=ids, centroids=centroids, gates=gates)


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
