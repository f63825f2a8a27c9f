"""Applies additions, edits and deletions to a fitted model without moving anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from overstory.clustering.draft import Draft, Shape
from overstory.clustering.fit import fit
from overstory.clustering.geometry import Array, Rows, alike, leading
from overstory.clustering.model import ClusterModel, Member, Weights
from overstory.clustering.repair import dissolve_below, drop_empty, split_above
from overstory.clustering.rule import CANDIDATES, Candidate, place, weigh
from overstory.clustering.space import in_order, reduce
from overstory.errors import EmbeddingError
from overstory.identity import ClusterId

Vectors = Mapping[str, NDArray[np.float32]] | Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]
"""Vectors of present members by id, or a function that fetches those asked for."""

REFIT_CLUSTERS = 4
"""With so few clusters a split rewrites nearly the whole level, so a refit costs no more and fits better."""

MEMO_PER_MEMBER = 4
_MEMO_LEAST = 1000
"""The memo keeps the newest ``MEMO_PER_MEMBER`` former states per member, at least ``_MEMO_LEAST`` in all."""


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A new model and how its clusters differ from those before; ids ascending."""

    model: ClusterModel
    touched: tuple[ClusterId, ...] = ()
    """Clusters that lived before and are made from something else now: their child_hash changed."""
    created: tuple[ClusterId, ...] = ()
    removed: tuple[ClusterId, ...] = ()
    refitted: bool = False
    """Whether all clusters were fitted anew, as is done while they are few."""

    @property
    def dirty(self) -> tuple[ClusterId, ...]:
        """The clusters whose summary is to be written."""
        return tuple(sorted((*self.touched, *self.created)))


def compare(before: ClusterModel, after: ClusterModel, *, among: Iterable[ClusterId] | None = None) -> Change:
    """How the clusters of two models differ.

    Args:
        before: The former model.
        after: The new model.
        among: The only clusters that may differ; all if absent.
    """
    ids = {*before.ids, *after.ids} if among is None else set(among)
    old, new = ids & before.rosters.keys(), ids & after.rosters.keys()
    differ = sorted(c for c in old & new if before.child_hash(c) != after.child_hash(c))
    return Change(after, tuple(differ), tuple(sorted(new - old)), tuple(sorted(old - new)))


def update(
    model: ClusterModel,
    *,
    upserts: Sequence[Member] = (),
    deletes: Sequence[str] = (),
    current: Vectors,
) -> Change:
    """The model after one transaction; the same for any order within it.

    A member whose ``summary_hash`` is known already is skipped; unknown ids to delete are ignored; an id that is in
    both is deleted, then added. Where nothing is left to do, the result holds ``model`` itself.

    Args:
        model: The model before.
        upserts: New and changed members, each id once.
        deletes: Ids of members that are gone.
        current: Vectors of the members present; asked only for clusters that must be split, and for all members
            where few clusters are fitted anew.

    Raises:
        EmbeddingError: A vector is missing, has the wrong length, or holds NaN or infinity.
        ValueError: An id occurs twice among the upserts.
    """
    gone = sorted(set(deletes) & model.hashes.keys())
    changed = [m for m in in_order(upserts) if m.id in gone or model.hashes.get(m.id) != m.summary_hash]
    if not gone and not changed:
        return Change(model)
    work = _Work(model, gone, changed, current)
    if work.needs_fit():
        return work.refit()
    if len(work.hashes) <= model.parameters.single_cluster_max:
        return work.update_single()
    work.delete()
    work.place_changed()
    drop_empty(work.draft)
    if len(work.draft.rosters) <= REFIT_CLUSTERS and work.overfull():
        return work.refit()
    split_above(work.draft, model.parameters.max_size)
    if dissolve_below(work.draft, model.parameters.min_size, model.parameters.max_size):
        split_above(work.draft, model.parameters.max_size)
    return work.finish()


class _Work:
    """One update in progress."""

    def __init__(self, model: ClusterModel, gone: Sequence[str], changed: Sequence[Member], current: Vectors) -> None:
        self.model, self.gone, self.changed, self.current = model, gone, changed, current
        self.hashes = dict(model.hashes)
        for former in gone:
            del self.hashes[former]
        self.added = sum(member.id not in self.hashes for member in changed)
        self.hashes.update({member.id: member.summary_hash for member in changed})
        self.fresh = {member.id: member for member in changed}
        self.memo = dict(model.memo)
        self.known: dict[str, Array] = {}
        self.draft = Draft(
            model.naming,
            model.margin,
            model.parameters.gate_quantile,
            self.points,
            {
                c: Shape(row, gate)
                for c, row, gate in zip(model.ids, model.centroids, model.gates.tolist(), strict=True)
            },
            dict(model.rosters),
            dict(model.memberships),
            set(model.twins),
        )

    def needs_fit(self) -> bool:
        """Whether the corpus crosses a border between no, one and several clusters."""
        clusters_for = self.model.parameters.clusters_for
        regime = min(2, clusters_for(len(self.hashes)))
        return regime == 0 or regime != min(2, clusters_for(self.model.fitted))

    def members(self, ids: Sequence[str]) -> list[Member]:
        """Present members with their vectors."""
        stored = [member for member in ids if member not in self.fresh]
        if not stored:
            return [self.fresh[m] for m in ids]
        vectors = self.current(stored) if callable(self.current) else self.current
        for member in stored:
            if member not in vectors:
                raise EmbeddingError(
                    f"The vector of {member} is missing", hint="Embed its summary first", member_id=member
                )
        return [self.fresh.get(m) or Member(m, vectors[m], self.hashes[m]) for m in ids]

    def points(self, ids: Sequence[str]) -> Array:
        """Reduced unit vectors (n, d) of present members."""
        unknown = [member for member in ids if member not in self.known]
        if unknown:
            found = reduce(self.members(unknown), self.model.dimension, self.model.basis)
            self.known.update(zip(unknown, found, strict=True))
        return np.array([self.known[member] for member in ids])

    def refit(self) -> Change:
        """Fit all members anew; clusters that live on keep their ids."""
        model = self.model
        after = fit(
            self.members(sorted(self.hashes)),
            model.parameters,
            namespace=model.namespace,
            generation=model.generation + 1,
            level=model.level,
            former=model.rosters,
        )
        return replace(compare(model, after), refitted=True)

    def update_single(self) -> Change:
        """Keep the one cluster of a small corpus, whatever its members say."""
        self.points([member.id for member in self.changed])  # refuses broken vectors
        only = self.model.ids[0]
        for gone in self.gone:
            self.draft.assign(gone, ())
        for member in self.changed:
            self.draft.assign(member.id, ((only, 1.0),))
        return self.finish()

    def remember(self, member: str) -> None:
        """Keep the clusters of a member's present state, should that state come back."""
        key = (member, self.model.hashes[member])
        self.memo.pop(key, None)
        self.memo[key] = tuple(sorted(cluster for cluster, _ in self.model.memberships[member]))

    def delete(self) -> None:
        """Take deleted members out of their clusters."""
        for member in self.gone:
            self.remember(member)
            self.draft.assign(member, ())

    def place_changed(self) -> None:
        """Find clusters for added and edited members, in order of id."""
        if not self.changed:
            return
        points = self.points([member.id for member in self.changed])
        count = min(CANDIDATES, self.model.parameters.max_memberships)
        best, scores = leading(points, self.model.centroids, count)
        for row, member in enumerate(self.changed):
            held = frozenset(cluster for cluster, _ in self.draft.memberships.get(member.id, ()))
            if held:
                self.remember(member.id)
            weights = self.recall(member, points[row]) or self.rule(held, best[row], scores[row])
            self.draft.assign(member.id, weights)

    def recall(self, member: Member, point: Array) -> Weights:
        """The weights in the clusters this very state had before; empty if unknown or one of them is gone."""
        clusters = self.memo.get((member.id, member.summary_hash), ())
        if not clusters or not all(cluster in self.draft.shapes for cluster in clusters):
            return ()
        centroids = np.stack([self.draft.shapes[cluster].centroid for cluster in clusters])
        scores = leading(point[None, :], centroids, len(clusters))
        pairs = zip(scores[0][0].tolist(), scores[1][0].tolist(), strict=True)
        return weigh([(clusters[row], score) for row, score in pairs], self.model.margin)

    def rule(self, held: frozenset[ClusterId], best: Rows, scores: Array) -> Weights:
        """The weights the membership rule gives."""
        parameters, shapes, rosters = self.model.parameters, self.draft.shapes, self.draft.rosters
        ids = [self.model.ids[row] for row in best]
        candidates = [Candidate(c, s, shapes[c].gate) for c, s in zip(ids, scores.tolist(), strict=True)]

        def same(one: ClusterId, other: ClusterId) -> bool:
            if tuple(sorted((one, other))) in self.model.twins:
                return True
            pair = shapes[one].centroid[None, :], shapes[other].centroid[None, :]
            return bool(alike(*pair, parameters.duplicate_cosine)[0])

        chosen = place(
            candidates,
            margin=self.model.margin,
            hysteresis=self.model.hysteresis,
            held=held,
            room=lambda cluster: len(rosters[cluster]) < parameters.secondary_max,
            same=same,
        )
        return weigh(chosen, self.model.margin)

    def overfull(self) -> bool:
        """Whether a cluster must be split."""
        return any(len(roster) > self.model.parameters.max_size for roster in self.draft.rosters.values())

    def finish(self) -> Change:
        """The model of the draft."""
        draft, model = self.draft, self.model
        keep = max(_MEMO_LEAST, MEMO_PER_MEMBER * len(self.hashes))
        excess = max(0, len(self.memo) - keep)
        after = replace(
            model,
            memberships=draft.memberships,
            hashes=self.hashes,
            rosters=draft.rosters,
            memo=dict(list(self.memo.items())[excess:]) if excess else self.memo,
            turned=model.turned + len(self.gone) + self.added,
        )
        if draft.reshaped:
            ids = tuple(sorted(draft.shapes))
            centroids = np.stack([draft.shapes[c].centroid for c in ids])
            gates = np.array([draft.shapes[c].gate for c in ids])
            after = replace(after, ids=ids, centroids=centroids, gates=gates, twins=draft.living_twins())
        return compare(model, after, among=draft.touched)
