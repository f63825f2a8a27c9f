"""The membership rule: which clusters a member belongs to, given frozen shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overstory.clustering.geometry import GRID, SLACK, Array, Rows, alike, leading
from overstory.clustering.model import Weights
from overstory.clustering.parameters import ClusterParameters
from overstory.identity import ClusterId

CANDIDATES = 3
"""Clusters considered per member; hysteresis considers the same, as a wider look causes more changes."""

_LEAST = 1e-6
"""Weights stay above zero, also where a split parted a member from the cluster it is nearest to."""

_STEEPNESS = math.log(10)
"""A cluster ``margin`` behind the best weighs a tenth of it: RAPTOR's threshold of 0.1, relative to the best."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the clusters nearest to a member."""

    cluster: ClusterId
    score: float
    """Rounded cosine."""
    gate: float


def weigh(scores: Sequence[tuple[ClusterId, float]], margin: float) -> Weights:
    """Weights proportional to exp(score ln 10 / margin), best first: the posterior of a spherical mixture."""
    ordered = sorted(scores, key=lambda pair: (-pair[1], pair[0]))
    scale = _STEEPNESS / max(margin, SLACK)
    raw = [max(_LEAST, math.exp((score - ordered[0][1]) * scale)) for _, score in ordered]
    total = sum(raw)
    return tuple((cluster, part / total) for (cluster, _), part in zip(ordered, raw, strict=True))


def place(
    candidates: Sequence[Candidate],
    *,
    margin: float,
    hysteresis: float,
    held: frozenset[ClusterId],
    room: Callable[[ClusterId], bool],
    same: Callable[[ClusterId, ClusterId], bool],
) -> list[tuple[ClusterId, float]]:
    """The clusters, with scores, of one member; ``held`` are those it has, empty for a new member.

    Args:
        candidates: The nearest clusters, best first, at least one.
        margin: A secondary cluster scores within it of the best, and above its own gate.
        hysteresis: Lead of held clusters over others.
        held: Clusters of the member before its edit.
        room: Whether a cluster takes further secondary members.
        same: Whether two clusters stand for one topic.
    """
    best = candidates[0].score
    lead = hysteresis if held else 0.0
    first = next((c for c in candidates if c.cluster in held and c.score > best - lead - SLACK), candidates[0])
    chosen = [first]
    for candidate in candidates:
        threshold = max(best - margin, candidate.gate)
        stays = candidate.cluster in held and candidate.score > threshold - lead
        enters = candidate.score > threshold + lead and (candidate.cluster in held or room(candidate.cluster))
        if (stays or enters) and not any(c is candidate or same(c.cluster, candidate.cluster) for c in chosen):
            chosen.append(candidate)
    return [(c.cluster, c.score) for c in chosen]


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The candidates of all points at once: (n, c) cluster rows, best first, and their rounded cosines."""

    clusters: Rows
    scores: Array
    distinct: NDArray[np.bool_]
    """(n, c): not the same topic as the best."""
    apart: NDArray[np.bool_]
    """(n,): second and third are not the same topic."""


def nearest(
    points: Array, centroids: Array, parameters: ClusterParameters, twins: Collection[tuple[int, int]] = ()
) -> Nearest:
    """The candidates of each point among the centroids; ``twins``, ascending pairs of rows, count as one topic."""
    pairs = np.array([low * len(centroids) + high for low, high in twins], dtype=np.int64)

    def same(one: Rows, other: Rows) -> NDArray[np.bool_]:
        paired = np.isin(np.minimum(one, other) * len(centroids) + np.maximum(one, other), pairs)
        return paired | alike(centroids[one], centroids[other], parameters.duplicate_cosine)

    clusters, scores = leading(points, centroids, min(CANDIDATES, parameters.max_memberships))
    distinct = np.ones(clusters.shape, dtype=np.bool_)
    for column in range(1, clusters.shape[1]):
        distinct[:, column] = ~same(clusters[:, 0], clusters[:, column])
    apart = np.ones(len(points), dtype=np.bool_)
    if clusters.shape[1] == CANDIDATES:
        apart = ~same(clusters[:, 1], clusters[:, 2])
    return Nearest(clusters, scores, distinct, apart)


def choose(near: Nearest, gates: Array, margin: float) -> NDArray[np.bool_]:
    """``place`` for all points at once, as new members and without limits of size: a mask (n, c)."""
    best = near.scores[:, :1]
    passes = (near.scores > np.maximum(best - margin, gates[near.clusters])) & near.distinct
    passes[:, 0] = True
    if passes.shape[1] == CANDIDATES:
        passes[:, 2] &= ~passes[:, 1] | near.apart
    return passes


def limit_secondaries(chosen: NDArray[np.bool_], near: Nearest, most: int) -> NDArray[np.bool_]:
    """The mask without the secondary memberships that would overfill a cluster; the nearest come first."""
    primaries = np.bincount(near.clusters[:, 0])
    rows, columns = np.nonzero(chosen[:, 1:])
    columns = columns + 1
    clusters, gaps = near.clusters[rows, columns], near.scores[rows, 0] - near.scores[rows, columns]
    order = np.lexsort((rows, np.rint(gaps * GRID), clusters))
    grouped = clusters[order]
    rank = np.arange(len(order)) - np.searchsorted(grouped, grouped)
    held = primaries[np.minimum(grouped, len(primaries) - 1)] * (grouped < len(primaries))
    excess = order[rank + held >= most]
    kept = chosen.copy()
    kept[rows[excess], columns[excess]] = False
    return kept


def calibrate(near: Nearest, gates: Array, mean: float) -> float:
    """The margin at which members have ``mean`` memberships on average; 0 where one each is wanted or possible."""
    gated = (near.scores > gates[near.clusters]) & near.distinct
    gaps = np.sort((near.scores[:, :1] - near.scores)[:, 1:][gated[:, 1:]])
    wanted = round((mean - 1) * len(near.scores))
    if not wanted or not len(gaps):
        return 0.0
    if wanted >= len(gaps):
        return float(gaps[-1]) + SLACK
    return float(np.floor((gaps[wanted - 1] + gaps[wanted]) / 2 * GRID) / GRID) + SLACK
