"""Stable soft clusters: fitted once, then changed one member at a time without moving the others.

``fit`` makes a model, ``update`` applies changes to it, ``drift`` and ``propose`` tell when and for what price to
``recluster``, ``fit_above`` builds the level above. No random numbers, no I/O (docs/decisions/0004-clusters.md).
"""

from overstory.clustering.drift import Drift, Proposal, cohesion, drift, propose
from overstory.clustering.fit import fit
from overstory.clustering.levels import above, centroids_as_members, fit_above
from overstory.clustering.model import ClusterModel, Member
from overstory.clustering.parameters import ClusterParameters
from overstory.clustering.recluster import recluster
from overstory.clustering.update import Change, Vectors, compare, update

__all__ = [
    "Change",
    "ClusterModel",
    "ClusterParameters",
    "Drift",
    "Member",
    "Proposal",
    "Vectors",
    "above",
    "centroids_as_members",
    "cohesion",
    "compare",
    "drift",
    "fit",
    "fit_above",
    "propose",
    "recluster",
    "update",
]
