"""The clustering parameters that a dataset's settings ask for."""

from __future__ import annotations

from overstory.clustering.parameters import ClusterParameters
from overstory.settings import Clusters

_MEASURED_AT = 20
"""The target size at which the limits were measured (docs/decisions/0004-clusters.md)."""


def cluster_parameters(settings: Clusters) -> ClusterParameters:
    """Parameters whose limits keep their measured proportions to the target size."""
    scale = settings.target_size / _MEASURED_AT
    return ClusterParameters(
        target_size=settings.target_size,
        mean_memberships=settings.mean_memberships,
        fit_max=round(28 * scale),
        secondary_max=round(28 * scale),
        max_size=round(32 * scale),
        min_size=max(2, round(5 * scale)),
        single_cluster_max=round(24 * scale),
    )
