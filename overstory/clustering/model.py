"""What is known of one level of clusters: frozen shapes, memberships, and what they were made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overstory.clustering.geometry import Array
from overstory.clustering.parameters import ClusterParameters
from overstory.identity import ClusterId, derive_id, unordered_child_hash

Twins = frozenset[tuple[ClusterId, ClusterId]]
"""Pairs of clusters, each ascending, that no member may share: too alike to differ, too large to be one."""

Weights = tuple[tuple[ClusterId, float], ...]
"""The clusters of one member, best first, with weights in (0, 1] that sum to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One node to be clustered."""

    id: str
    vector: NDArray[np.float32]
    """Shape (dimension,); any length, also zero."""
    summary_hash: str
    """What the summary is; the same hash means that nothing changed, whatever the vector."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Derives cluster ids."""

    namespace: str
    """The dataset."""
    level: int
    generation: int

    def derive(self, founders: Iterable[str], taken: Iterable[str]) -> ClusterId:
        """The id of a cluster born with these members; a living cluster's id is never given twice."""
        founders, taken = sorted(founders), set(taken)
        generation, salt = str(self.generation), 0
        while True:
            found = derive_id("cluster", self.namespace, str(self.level), generation, *founders)
            if found not in taken:
                return ClusterId(found)
            salt += 1
            generation = f"{self.generation}.{salt}"


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """A fitted, frozen clustering and its memberships today; changes make a new one.

    ``centroids``: (K, d) float64, rows L2-normalized, in the order of ``ids`` (ascending); ``gates``: (K,) cosines.
    """

    naming: Naming
    parameters: ClusterParameters
    dimension: int
    """Length of the members' vectors; 0 while there is none."""
    basis: Array | None
    """(dimension, d): columns that reduce a vector; None where vectors are used as they are."""
    ids: tuple[ClusterId, ...]
    centroids: Array
    gates: Array
    margin: float
    """A secondary cluster scores within this cosine of the best."""
    hysteresis: float
    twins: Twins
    memberships: Mapping[str, Weights]
    """By member id; a lone member has none."""
    hashes: Mapping[str, str]
    """Summary hash by member id."""
    rosters: Mapping[ClusterId, frozenset[str]]
    """Member ids by cluster: ``memberships`` turned round."""
    memo: Mapping[tuple[str, str], tuple[ClusterId, ...]]
    """Clusters that a member had under a former summary hash, oldest first."""
    fitted: int
    """Members at the fit."""
    turned: int
    """Members added and deleted since the fit."""

    @property
    def namespace(self) -> str:
        """The dataset."""
        return self.naming.namespace

    @property
    def level(self) -> int:
        """The level of the clusters: 2 above documents."""
        return self.naming.level

    @property
    def generation(self) -> int:
        """Counts fits and re-clusterings."""
        return self.naming.generation

    def members(self, cluster: ClusterId) -> tuple[tuple[str, float], ...]:
        """Member ids in order and their weights.

        Raises:
            KeyError: There is no such cluster.
        """
        return tuple((member, dict(self.memberships[member])[cluster]) for member in sorted(self.rosters[cluster]))

    def child_hash(self, cluster: ClusterId) -> str:
        """What the cluster's summary is to be made from: its members' summary hashes, in no order.

        Raises:
            KeyError: There is no such cluster.
        """
        return unordered_child_hash(self.hashes[member] for member in self.rosters[cluster])

    def to_bytes(self) -> bytes:
        """The whole model as a compressed npz archive without pickled objects; equal models give equal bytes."""
        from overstory.clustering.serialization import dump

        return dump(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> ClusterModel:
        """The model that ``to_bytes`` wrote.

        Raises:
            RecordTooNew: A newer program wrote it.
            StoreError: The bytes are not a model.
        """
        from overstory.clustering.serialization import load

        return load(raw)


def rosters_of(ids: Iterable[ClusterId], memberships: Mapping[str, Weights]) -> dict[ClusterId, frozenset[str]]:
    """Member ids by cluster."""
    gathered: dict[ClusterId, set[str]] = {cluster: set() for cluster in ids}
    for member, weights in memberships.items():
        for cluster, _ in weights:
            gathered[cluster].add(member)
    return {cluster: frozenset(found) for cluster, found in gathered.items()}
