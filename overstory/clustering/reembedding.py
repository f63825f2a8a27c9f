"""Moves a model into the space of another embedder: who belongs together stays, the geometry is measured anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from overstory.clustering.draft import Draft
from overstory.clustering.fit import freeze
from overstory.clustering.model import ClusterModel, Member
from overstory.clustering.rule import calibrate, nearest
from overstory.clustering.space import Space, build_space


def reembed(model: ClusterModel, members: Sequence[Member]) -> ClusterModel:
    """The same clusters with centroids, gates and margin from new vectors; no child_hash changes.

    Args:
        model: Clusters in the former space.
        members: All present members with their new vectors (d,), of one length; those the model does not know are
            left to ``update``.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
    """
    known = [member for member in members if member.id in model.memberships]
    if not known:
        return model
    space = build_space(known, model.parameters.dimensions)
    draft = _draft(model, space)
    draft.reshape(draft.rosters)
    if len(draft.rosters) > 1:
        ids = sorted(draft.shapes)
        near = nearest(space.points, np.stack([draft.shapes[c].centroid for c in ids]), model.parameters)
        gates = np.array([draft.shapes[c].gate for c in ids])
        draft.margin = calibrate(near, gates, model.parameters.mean_for(len(space.ids)))
        draft.weigh_again(space.ids)
    moved = freeze(space, draft, model.parameters, model.rosters)
    kept = {member: model.hashes[member] for member in space.ids}
    return replace(moved, hashes=kept, memo=model.memo, fitted=model.fitted, turned=model.turned, twins=model.twins)


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
