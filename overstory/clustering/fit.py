"""Fits a generation of clusters to all members at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from overstory.cluster_identity import carry_ids
from overstory.clustering.bisection import bisect
from overstory.clustering.draft import Draft, Shape, gate_of, tie_breaks
from overstory.clustering.geometry import GRID, Array, alike, leading, mean_direction, unit
from overstory.clustering.model import ClusterModel, Member, Naming, Weights, rosters_of
from overstory.clustering.parameters import ClusterParameters
from overstory.clustering.repair import dissolve_below, drop_empty, fold_overlapping, split_above
from overstory.clustering.rule import Nearest, calibrate, choose, limit_secondaries, nearest, weigh
from overstory.clustering.space import Space, build_space
from overstory.identity import ClusterId

LLOYD_STEPS = 3
"""More steps change cohesion by less than 0.001."""

ROUNDS = 16
"""Rounds towards the fixed point of the rule at most; most corpora need two or three."""

_HYSTERESIS_SHARE = 3
"""Hysteresis is this part of the margin: halves the membership changes of edits at equal cohesion."""


def fit(
    members: Sequence[Member],
    parameters: ClusterParameters | None = None,
    *,
    namespace: str,
    generation: int,
    level: int = 2,
    former: Mapping[ClusterId, frozenset[str]] | None = None,
) -> ClusterModel:
    """A model fitted to the members from scratch; the same for any order of members, process or thread count.

    Zero or one member have no cluster; up to ``single_cluster_max`` share one.

    Args:
        members: Each id once; vectors of one length, of any norm.
        parameters: Defaults if absent.
        namespace: The dataset; enters the ids of clusters.
        generation: Counts the fits of a dataset; enters the ids of clusters.
        level: The level of the clusters.
        former: Members of the clusters before; a new cluster that shares at least half with one takes its id.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
        ValueError: An id occurs twice.
    """
    parameters = parameters or ClusterParameters()
    naming = Naming(namespace, level, generation)
    space = build_space(members, parameters.dimensions)
    wanted = parameters.clusters_for(len(space.ids))
    if wanted <= 1:
        draft = _single(space, naming, parameters)
    else:
        seeds = _seeds(space, wanted, parameters, naming)
        draft = settle(space, seeds, parameters, naming)
    return freeze(space, draft, parameters, former or {})


def _single(space: Space, naming: Naming, parameters: ClusterParameters) -> Draft:
    """One cluster of all members, or none for fewer than two."""
    draft = Draft(naming, 0.0, parameters.gate_quantile, space.of, {}, {}, {})
    if len(space.ids) > 1:
        only = naming.derive(space.ids, ())
        draft.rosters[only] = frozenset(space.ids)
        draft.memberships = dict.fromkeys(space.ids, ((only, 1.0),))
        draft.reshape((only,))
    return draft


def _seeds(space: Space, count: int, parameters: ClusterParameters, naming: Naming) -> dict[ClusterId, Array]:
    """Centroids of a bisection, refined, without those that say the same as an earlier one."""
    groups = bisect(space.points, tie_breaks(space.ids), [np.arange(len(space.ids))], count)
    named = {naming.derive((space.ids[row] for row in rows), ()): rows for rows in groups}
    seeds = lloyd(space, {cluster: mean_direction(space.points[rows]) for cluster, rows in named.items()})
    kept: dict[ClusterId, Array] = {}
    for cluster, centroid in seeds.items():
        earlier = np.array(list(kept.values())).reshape(len(kept), len(centroid))
        same = alike(earlier, np.broadcast_to(centroid, earlier.shape), parameters.duplicate_cosine)
        if not same.any():
            kept[cluster] = centroid
    return kept


def lloyd(space: Space, seeds: Mapping[ClusterId, Array]) -> dict[ClusterId, Array]:
    """The centroids, by id, after a few steps of spherical k-means; emptied ones are left out."""
    ids = sorted(seeds)
    centroids = np.stack([seeds[cluster] for cluster in ids])
    for _ in range(LLOYD_STEPS):
        owner = leading(space.points, centroids, 1)[0][:, 0]
        sums = np.zeros_like(centroids)
        np.add.at(sums, owner, space.points)
        living = np.bincount(owner, minlength=len(ids)) > 0
        centroids = unit(sums[living])
        ids = [cluster for cluster, lives in zip(ids, living, strict=True) if lives]
    return dict(zip(ids, centroids, strict=True))


def settle(space: Space, seeds: Mapping[ClusterId, Array], parameters: ClusterParameters, naming: Naming) -> Draft:
    """Thresholds, memberships and sizes for these centroids, until the rule and the sizes agree."""
    ids = sorted(seeds)
    centroids = np.stack([seeds[cluster] for cluster in ids])
    near = nearest(space.points, centroids, parameters)
    living = np.bincount(near.clusters[:, 0], minlength=len(ids)) > 0
    if not living.all():
        kept = {c: seeds[c] for c, lives in zip(ids, living, strict=True) if lives}
        return settle(space, kept, parameters, naming)
    gates = gates_of(near, len(ids), parameters.gate_quantile)
    margin = calibrate(near, gates, parameters.mean_for(len(space.ids)))
    shapes = {c: Shape(row, float(gate)) for c, row, gate in zip(ids, centroids, gates, strict=True)}
    chosen = limit_secondaries(choose(near, gates, margin), near, parameters.secondary_max)
    draft = Draft(naming, margin, parameters.gate_quantile, space.of, shapes, {}, {})
    _take(draft, space, ids, near, chosen)
    _repair(draft, parameters)
    for _ in range(ROUNDS):
        _apply_rule(draft, space, parameters)
        if not _repair(draft, parameters):
            break
    draft.weigh_again(space.ids)
    return draft


def gates_of(near: Nearest, count: int, quantile: float) -> Array:
    """The gate of each cluster, (K,), from the scores of its primary members."""
    order = np.argsort(near.clusters[:, 0], kind="stable")
    ends = np.cumsum(np.bincount(near.clusters[:, 0], minlength=count))[:-1]
    return np.array([gate_of(scores, quantile) for scores in np.split(near.scores[order, 0], ends)])


def _apply_rule(draft: Draft, space: Space, parameters: ClusterParameters) -> None:
    """Place every member anew among the draft's clusters; no limit of size applies."""
    ids = sorted(draft.shapes)
    place = {cluster: row for row, cluster in enumerate(ids)}
    twins = [(place[one], place[other]) for one, other in draft.living_twins()]
    near = nearest(space.points, np.stack([draft.shapes[c].centroid for c in ids]), parameters, twins)
    gates = np.array([draft.shapes[c].gate for c in ids])
    _take(draft, space, ids, near, choose(near, gates, draft.margin))


def _take(
    draft: Draft, space: Space, ids: Sequence[ClusterId], near: Nearest, chosen: np.ndarray[tuple[int, int]]
) -> None:
    """Make the chosen candidates the memberships of the draft."""
    memberships: dict[str, Weights] = {}
    rows = zip(space.ids, near.clusters.tolist(), near.scores.tolist(), chosen.tolist(), strict=True)
    for member, clusters, scores, mask in rows:
        taken = [(ids[c], s) for c, s, holds in zip(clusters, scores, mask, strict=True) if holds]
        memberships[member] = weigh(taken, draft.margin)
    draft.memberships = memberships
    draft.rosters = rosters_of(ids, memberships)


def _repair(draft: Draft, parameters: ClusterParameters) -> bool:
    """Bring the draft within its sizes; whether anything had to change."""
    before = len(draft.shapes)
    drop_empty(draft)
    changed = len(draft.shapes) != before
    changed |= fold_overlapping(draft, parameters.duplicate_jaccard, parameters.fit_max)
    changed |= dissolve_below(draft, parameters.min_size, parameters.fit_max)
    return split_above(draft, parameters.fit_max) or changed


def freeze(
    space: Space,
    draft: Draft,
    parameters: ClusterParameters,
    former: Mapping[ClusterId, frozenset[str]],
) -> ClusterModel:
    """The model of a settled draft, with the ids of former clusters where they live on."""
    names = carry_ids(former, draft.rosters)
    memberships = {m: tuple((names[c], w) for c, w in draft.memberships.get(m, ())) for m in space.ids}
    shapes = {names[cluster]: shape for cluster, shape in draft.shapes.items()}
    ids = tuple(sorted(shapes))
    width = space.points.shape[1]
    share = min(parameters.hysteresis, draft.margin / _HYSTERESIS_SHARE)
    return ClusterModel(
        naming=draft.naming,
        parameters=parameters,
        dimension=space.dimension,
        basis=space.basis,
        ids=ids,
        centroids=np.array([shapes[c].centroid for c in ids]).reshape(len(ids), width),
        gates=np.array([shapes[c].gate for c in ids]),
        margin=draft.margin,
        hysteresis=float(np.floor(share * GRID) / GRID),
        twins=frozenset(
            (min(names[one], names[other]), max(names[one], names[other])) for one, other in draft.living_twins()
        ),
        memberships={m: weights for m, weights in memberships.items() if weights},
        hashes=space.hashes,
        rosters={names[cluster]: roster for cluster, roster in draft.rosters.items()},
        memo={},
        fitted=len(space.ids),
        turned=0,
    )
