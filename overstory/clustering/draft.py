"""A clustering while it is being changed: shapes and memberships that can be edited consistently."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from overstory.clustering.geometry import GRID, SLACK, Array, mean_direction, rounded
from overstory.clustering.model import Naming, Twins, Weights
from overstory.clustering.rule import weigh
from overstory.identity import ClusterId, digest

Points = Callable[[Sequence[str]], Array]
"""Gives the reduced unit vectors of members, (n, d), in the order asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Where a cluster lies and whom it admits."""

    centroid: Array
    gate: float


def gate_of(scores: Array, quantile: float) -> float:
    """The cosine a secondary member must exceed: a quantile of the primary members' scores, between two steps."""
    return float(np.floor(np.quantile(scores, quantile) * GRID) / GRID) - SLACK


def tie_breaks(ids: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """An order of members that has nothing to do with their topics or names, (n,)."""
    return np.array([int(digest("order", member)[:16], 16) for member in ids], dtype=np.uint64)


@dataclass(slots=True)
class Draft:
    """The workings of a fit or an update."""

    naming: Naming
    margin: float
    gate_quantile: float
    points: Points
    shapes: dict[ClusterId, Shape]
    rosters: dict[ClusterId, frozenset[str]]
    memberships: dict[str, Weights]
    twins: set[tuple[ClusterId, ClusterId]] = field(default_factory=set)
    """Pairs, each ascending, that no member may share."""
    touched: set[ClusterId] = field(default_factory=set)
    """Clusters whose members or shape changed, gone ones included."""
    reshaped: bool = False
    """Whether any shape is new or gone."""

    def assign(self, member: str, weights: Weights) -> None:
        """Give a member exactly these clusters; no weights remove it from all."""
        before = {cluster for cluster, _ in self.memberships.get(member, ())}
        after = {cluster for cluster, _ in weights}
        for cluster in before - after:
            self.rosters[cluster] -= {member}
        for cluster in after - before:
            self.rosters[cluster] |= {member}
        self.touched |= before | after
        if weights:
            self.memberships[member] = weights
        else:
            self.memberships.pop(member, None)

    def leave(self, member: str, cluster: ClusterId) -> None:
        """Take a member out of one of its several clusters; the others share its weight in proportion."""
        rest = [(other, weight) for other, weight in self.memberships[member] if other != cluster]
        total = sum(weight for _, weight in rest)
        self.assign(member, tuple((other, weight / total) for other, weight in rest))

    def primaries(self, cluster: ClusterId) -> list[str]:
        """The members that have no better cluster, in order."""
        return [m for m in sorted(self.rosters[cluster]) if self.memberships[m][0][0] == cluster]

    def drop(self, cluster: ClusterId) -> None:
        """Remove an empty cluster."""
        del self.rosters[cluster], self.shapes[cluster]
        self.touched.add(cluster)
        self.reshaped = True

    def living_twins(self) -> Twins:
        """The pairs of which both still exist."""
        return frozenset(pair for pair in self.twins if self.shapes.keys() >= set(pair))

    def reshape(self, clusters: Iterable[ClusterId]) -> None:
        """Move centroids to the mean of the members, then weigh those members and set the gates anew."""
        clusters = sorted(clusters)
        for cluster in clusters:
            centroid = mean_direction(self.points(sorted(self.rosters[cluster])))
            self.shapes[cluster] = Shape(centroid, 0.0)
        self.weigh_again(sorted(set().union(*(self.rosters[cluster] for cluster in clusters))))
        for cluster in clusters:
            inside = self.primaries(cluster) or sorted(self.rosters[cluster])
            centroid = self.shapes[cluster].centroid
            scores = rounded(self.points(inside) @ centroid)
            self.shapes[cluster] = Shape(centroid, gate_of(scores, self.gate_quantile))
        self.touched.update(clusters)
        self.reshaped = True

    def weigh_again(self, members: Sequence[str]) -> None:
        """Set the weights of members from their scores, in the clusters they have."""
        for member, point in zip(members, self.points(members), strict=True):
            clusters = [cluster for cluster, _ in self.memberships[member]]
            scores = rounded(np.stack([self.shapes[cluster].centroid for cluster in clusters]) @ point)
            self.memberships[member] = weigh(list(zip(clusters, scores.tolist(), strict=True)), self.margin)
