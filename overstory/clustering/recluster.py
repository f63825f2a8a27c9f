"""Makes the next generation of clusters, started from the present ones so that most keep their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from overstory.clustering.bisection import bisect
from overstory.clustering.draft import tie_breaks
from overstory.clustering.fit import fit, freeze, lloyd, settle
from overstory.clustering.geometry import Array, mean_direction
from overstory.clustering.model import ClusterModel, Member, Naming
from overstory.clustering.parameters import ClusterParameters
from overstory.clustering.space import Space, build_space
from overstory.identity import ClusterId


def recluster(
    model: ClusterModel, members: Sequence[Member], parameters: ClusterParameters | None = None
) -> ClusterModel:
    """The next generation, started from today's clusters so that most keep their ids.

    Args:
        model: The model before.
        members: The members to cluster; vectors may come from another embedder.
        parameters: Those of the model if absent.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
        ValueError: An id occurs twice.
    """
    parameters = parameters or model.parameters
    naming = replace(model.naming, generation=model.generation + 1)
    present = {cluster: roster & {m.id for m in members} for cluster, roster in model.rosters.items()}
    wanted = parameters.clusters_for(len(members))
    covered = set().union(*present.values())
    if wanted <= 1 or len(model.ids) <= 1 or any(member.id not in covered for member in members):
        return fit(
            members,
            parameters,
            namespace=naming.namespace,
            generation=naming.generation,
            level=naming.level,
            former=model.rosters,
        )
    space = build_space(members, parameters.dimensions)
    seeds = _warm_seeds(space, {c: roster for c, roster in present.items() if roster}, wanted, naming)
    return freeze(space, settle(space, lloyd(space, seeds), parameters, naming), parameters, {})


def _warm_seeds(
    space: Space, rosters: Mapping[ClusterId, frozenset[str]], wanted: int, naming: Naming
) -> dict[ClusterId, Array]:
    """Centroids of today's clusters, the largest split until there are enough; the larger part keeps the id."""
    groups = {c: np.array(sorted(space.rows[m] for m in roster)) for c, roster in rosters.items()}
    ties = tie_breaks(space.ids)
    while len(groups) < wanted:
        cluster = min(groups, key=lambda c: (-len(groups[c]), c))
        parts = sorted(bisect(space.points, ties, [groups[cluster]], 2), key=len, reverse=True)
        born = naming.derive((space.ids[row] for row in parts[1]), groups)
        groups[cluster], groups[born] = parts
    return {cluster: mean_direction(space.points[rows]) for cluster, rows in groups.items()}
