"""The numbers that shape clusters, with the ranges they may take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from overstory.errors import SettingsError

_RAMP = 4
"""Memberships grow from one at ``single_cluster_max`` members to the full mean at five times as many."""


@dataclass(frozen=True, slots=True)
class ClusterParameters:
    """Sizes, memberships and thresholds of soft clusters (measured choices: docs/decisions/0004-clusters.md).

    Raises:
        SettingsError: A value is out of its range, or two values contradict each other.
    """

    target_size: int = 20
    """Members per cluster aimed at when the number of clusters is chosen."""
    mean_memberships: float = 1.5
    """Clusters per member at the fit, 1 to ``max_memberships``."""
    max_memberships: int = 3
    """Clusters per member at most, 1 to 3."""
    fit_max: int = 28
    """A larger cluster is split by a fit; lower than ``max_size``, so that an addition does not split it."""
    secondary_max: int = 28
    """A cluster of this size takes no further member that has a better cluster."""
    max_size: int = 32
    """A larger cluster is split by an update."""
    min_size: int = 5
    """A smaller cluster is dissolved."""
    gate_quantile: float = 0.05
    """A secondary member is at least as near as this quantile of the cluster's primary members, 0 to 1."""
    hysteresis: float = 0.03
    """Upper bound, in cosine, of the lead an edited member's old clusters have over new ones."""
    dimensions: int = 64
    """Dimensions kept of the vectors from 256 members on."""
    duplicate_cosine: float = 0.98
    """Two centroids at least this near count as one topic."""
    duplicate_jaccard: float = 0.5
    """Two clusters that share at least this part of their members are folded into one."""
    single_cluster_max: int = 24
    """Up to this many members form one cluster."""

    def __post_init__(self) -> None:
        for holds, rule in self._rules():
            if not holds:
                raise SettingsError(f"The cluster parameters break the rule {rule}", hint="Change one of the values")

    def _rules(self) -> tuple[tuple[bool, str], ...]:
        return (
            (2 <= self.target_size <= self.fit_max, "2 <= target_size <= fit_max"),
            (1 <= self.max_memberships <= 3, "1 <= max_memberships <= 3"),
            (1 <= self.mean_memberships <= self.max_memberships, "1 <= mean_memberships <= max_memberships"),
            (self.fit_max <= self.max_size, "fit_max <= max_size"),
            (1 <= self.secondary_max <= self.max_size, "1 <= secondary_max <= max_size"),
            # a split leaves at least a third on each side, which must not be dissolved at once
            (1 <= self.min_size <= math.ceil((self.fit_max + 1) / 3), "1 <= min_size <= (fit_max + 1) / 3"),
            (0 <= self.gate_quantile < 1, "0 <= gate_quantile < 1"),
            (0 <= self.hysteresis < 1, "0 <= hysteresis < 1"),
            (self.dimensions >= 2, "2 <= dimensions"),
            (0 < self.duplicate_cosine <= 1, "0 < duplicate_cosine <= 1"),
            (0 < self.duplicate_jaccard <= 1, "0 < duplicate_jaccard <= 1"),
            (1 <= self.single_cluster_max <= self.max_size, "1 <= single_cluster_max <= max_size"),
        )

    def mean_for(self, members: int) -> float:
        """The mean number of memberships aimed at for this many members.

        Two clusters that both hold everybody would cost two calls for one text, so small corpora get fewer.
        """
        grown = (members - self.single_cluster_max) / (_RAMP * self.single_cluster_max)
        return 1 + (self.mean_memberships - 1) * min(1.0, max(0.0, grown))

    def clusters_for(self, members: int) -> int:
        """The number of clusters a fit starts with: 0 for up to one member, 1 up to ``single_cluster_max``."""
        if members <= self.single_cluster_max:
            return int(members > 1)
        wanted = math.floor(members * self.mean_for(members) / self.target_size + 0.5)
        return min(members, max(2, wanted))
