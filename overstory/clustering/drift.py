"""Measures how far memberships have drifted from today's topics, and prices a re-clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from overstory.clustering.geometry import Array, leading, unit
from overstory.clustering.model import ClusterModel, Member
from overstory.clustering.parameters import ClusterParameters
from overstory.clustering.recluster import recluster
from overstory.clustering.space import exactly, reduce
from overstory.clustering.update import Change, compare

MISPLACED = 0.025
"""Share of members nearest to a cluster that is none of theirs, from which a re-clustering is proposed."""

TURNOVER = 0.5
"""Additions and deletions per fitted member, from which a re-clustering is proposed."""

PATIENCE = 0.1
"""Further turnover before a declined re-clustering is proposed again."""

LEAST_GAIN = 0.01
"""Smaller gains in cohesion are not worth writing a level anew."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the model has moved away from its fit."""

    misplaced: float
    """Share of members, 0 to 1, whose nearest cluster (by the mean of its members today) is none of theirs."""
    turnover: float
    """Members added and deleted since the fit, per fitted member; at least 0."""
    propose: bool
    """Whether to work out what a re-clustering would cost and give."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """What a re-clustering would do."""

    change: Change
    cohesion: float
    """Mean pairwise cosine within the clusters now, -1 to 1."""
    cohesion_then: float
    ids_kept: float
    """Share of today's clusters that keep their id, 0 to 1."""

    @property
    def calls(self) -> int:
        """Cluster summaries to write."""
        return len(self.change.dirty)

    @property
    def worthwhile(self) -> bool:
        """Whether cohesion gains enough to be proposed."""
        return self.cohesion_then - self.cohesion >= LEAST_GAIN


def drift(model: ClusterModel, members: Sequence[Member], *, declined_at: float | None = None) -> Drift:
    """How far the model has drifted; costs no call.

    Args:
        model: The model.
        members: Exactly its present members.
        declined_at: The turnover at which a proposal was last declined, if one was.

    Raises:
        EmbeddingError: A vector has the wrong length, or holds NaN or infinity.
        ValueError: ``members`` are not those of the model.
    """
    turnover = model.turned / model.fitted if model.fitted else float(model.turned > 0)
    misplaced = 0.0
    if len(model.ids) > 1:
        ordered = exactly(model, members)
        points = reduce(ordered, model.dimension, model.basis)
        live = _live_centroids(model, [member.id for member in ordered], points)
        first = leading(points, live, 1)[0][:, 0]
        strangers = [
            member.id not in model.rosters[model.ids[row]] for member, row in zip(ordered, first.tolist(), strict=True)
        ]
        misplaced = sum(strangers) / len(strangers)
    due = misplaced >= MISPLACED or turnover >= TURNOVER
    patient = declined_at is not None and turnover < declined_at + PATIENCE
    return Drift(misplaced, turnover, due and not patient)


def cohesion(model: ClusterModel, members: Sequence[Member]) -> float:
    """Mean over clusters of the mean pairwise cosine of their members' whole vectors; 0 without clusters.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
        ValueError: ``members`` are not those of the model.
    """
    vectors = {member.id: member for member in exactly(model, members)}
    found = []
    for cluster in model.ids:
        inside = sorted(model.rosters[cluster])
        if len(inside) > 1:
            rows = reduce([vectors[member] for member in inside], int(vectors[inside[0]].vector.size), None)
            total, count = rows.sum(axis=0), len(rows)
            found.append((float(total @ total) - float((rows * rows).sum())) / (count * (count - 1)))
    return sum(found) / len(found) if found else 0.0


def propose(model: ClusterModel, members: Sequence[Member], parameters: ClusterParameters | None = None) -> Proposal:
    """A re-clustering worked out but not made: its calls, its gain, and the model to take if it is accepted.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
        ValueError: ``members`` are not those of the model.
    """
    now = cohesion(model, members)
    after = recluster(model, members, parameters)
    kept = len({*model.ids} & {*after.ids}) / len(model.ids) if model.ids else 1.0
    return Proposal(compare(model, after), now, cohesion(after, members), kept)


def _live_centroids(model: ClusterModel, ids: Sequence[str], points: Array) -> Array:
    """Unit means (K, d) of the members of each cluster today."""
    rows = {member: row for row, member in enumerate(ids)}
    means = [points[sorted(rows[m] for m in model.rosters[c])].mean(axis=0) for c in model.ids]
    return unit(np.array(means))
