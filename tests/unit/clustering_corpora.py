"""Small corpora with known topics for the tests of clustering."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overstory.clustering import ClusterModel, ClusterParameters, Member, fit
from overstory.identity import digest

SMALL = ClusterParameters(target_size=6, fit_max=8, secondary_max=8, max_size=10, min_size=2, single_cluster_max=8)
"""Clusters small enough that a few dozen members split, dissolve and fold."""


DIM = 8
"""Few dimensions, so that topics overlap as those of real documents do."""


def member(number: int, vector: NDArray[np.floating], state: str = "a") -> Member:
    """One member; another ``state`` is another summary."""
    return Member(f"d{number:04d}", np.asarray(vector, dtype=np.float32), digest("summary", str(number), state))


def members_of(vectors: NDArray[np.floating]) -> list[Member]:
    """The rows as members in order."""
    return [member(number, row) for number, row in enumerate(vectors)]


def topical(count: int, *, topics: int = 12, spread: float = 0.8, seed: int = 1, dim: int = DIM) -> list[Member]:
    """Members around random topics that overlap."""
    draw = np.random.default_rng(seed)
    centers = draw.normal(size=(topics, dim))
    rows = centers[draw.integers(0, topics, count)] + spread * draw.normal(size=(count, dim))
    return members_of(rows)


def vectors(members: list[Member]) -> dict[str, NDArray[np.float32]]:
    """Vectors by id."""
    return {m.id: m.vector for m in members}


def fitted(members: list[Member], parameters: ClusterParameters | None = None) -> ClusterModel:
    """A first generation."""
    return fit(members, parameters, namespace="handbook", generation=1)


def sizes(model: ClusterModel) -> list[int]:
    """Cluster sizes, ascending."""
    return sorted(len(roster) for roster in model.rosters.values())


def hashes(model: ClusterModel) -> set[str]:
    """Child hashes of all clusters."""
    return {model.child_hash(cluster) for cluster in model.ids}


def covered(model: ClusterModel) -> bool:
    """Whether every member has one to three memberships whose weights sum to 1, as the rosters have it."""
    for held in model.hashes:
        weights = [weight for _, weight in model.memberships.get(held, ())]
        if not 1 <= len(weights) <= 3 or abs(sum(weights) - 1) > 1e-9 or min(weights) <= 0:
            return False
    pairs = {(c, m) for c, roster in model.rosters.items() for m in roster}
    return pairs == {(c, m) for m, weights in model.memberships.items() for c, _ in weights}
