"""Puts a further level of clusters on top of one, and knows when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from overstory.clustering.fit import fit
from overstory.clustering.geometry import unit
from overstory.clustering.model import ClusterModel, Member
from overstory.clustering.parameters import ClusterParameters
from overstory.identity import ClusterId


def centroids_as_members(model: ClusterModel, summary_hashes: Mapping[ClusterId, str]) -> tuple[Member, ...]:
    """The clusters of a level as members of the level above, in order of id.

    The vectors are the frozen centroids in the space of the original vectors, (dimension,) float32: a changed summary
    makes its parents stale but moves nothing.

    Args:
        model: The level below.
        summary_hashes: By cluster id; clusters without one (not summarized yet) are left out.
    """
    rows = model.centroids if model.basis is None else unit(model.centroids @ model.basis.T)
    whole = rows.astype("float32")
    return tuple(
        Member(cluster, whole[row], summary_hashes[cluster])
        for row, cluster in enumerate(model.ids)
        if cluster in summary_hashes
    )


def above(parameters: ClusterParameters) -> ClusterParameters:
    """The parameters of levels above the first: one parent each, as a change then has one path to the top."""
    return replace(parameters, mean_memberships=1.0)


def fit_above(
    model: ClusterModel, summary_hashes: Mapping[ClusterId, str], *, generation: int = 1
) -> ClusterModel | None:
    """The level above ``model``, or None where there is to be none.

    A single cluster is the top already; a few get one parent in one step; a level of more than half the nodes below
    it would be a staircase and is not built.

    Args:
        model: The level below.
        summary_hashes: By cluster id of ``model``.
        generation: Counts the fits of the level.
    """
    members = centroids_as_members(model, summary_hashes)
    if len(members) < 2:
        return None
    found = fit(
        members,
        above(model.parameters),
        namespace=model.namespace,
        generation=generation,
        level=model.level + 1,
    )
    return found if 2 * len(found.ids) <= len(members) else None
