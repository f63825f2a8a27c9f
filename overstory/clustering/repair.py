"""Keeps clusters within their sizes and apart: splits, dissolves and folds them, touching no others."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from overstory.clustering.bisection import halves
from overstory.clustering.draft import Draft, tie_breaks
from overstory.clustering.geometry import rounded
from overstory.identity import ClusterId


def split_above(draft: Draft, most: int) -> bool:
    """Cut clusters with more than ``most`` members in two until none is left; whether there was one."""
    waiting = sorted(cluster for cluster, roster in draft.rosters.items() if len(roster) > most)
    found = bool(waiting)
    while waiting:
        cluster = waiting.pop(0)
        born = _split(draft, cluster)
        waiting += [half for half in (cluster, born) if len(draft.rosters[half]) > most]
    return found


def _split(draft: Draft, cluster: ClusterId) -> ClusterId:
    """Cut a cluster in two, no member in both; the larger half keeps the id, the id of the other is returned."""
    members = sorted(draft.rosters[cluster])
    low, high = halves(draft.points(members), tie_breaks(members))
    leaving = [members[row] for row in (high if len(high) <= len(low) else low)]
    born = draft.naming.derive(leaving, draft.rosters)
    draft.rosters[born] = frozenset()
    for member in leaving:
        moved = tuple((born if c == cluster else c, weight) for c, weight in draft.memberships[member])
        draft.assign(member, moved)
    draft.reshape((cluster, born))
    return born


def drop_empty(draft: Draft) -> None:
    """Remove clusters without members."""
    for cluster in sorted(cluster for cluster, roster in draft.rosters.items() if not roster):
        draft.drop(cluster)


def dissolve_below(draft: Draft, least: int, room: int) -> bool:
    """Dissolve clusters of fewer than ``least`` members, smallest first; whether there was one.

    Members that have another cluster leave; the others go together to the nearest cluster that then holds at most
    ``room``, or to the nearest of all, which must then be split. The last cluster stays.
    """
    small = sorted((len(roster), cluster) for cluster, roster in draft.rosters.items() if len(roster) < least)
    return any([_dissolve(draft, cluster, least, room) for _, cluster in small])


def _dissolve(draft: Draft, cluster: ClusterId, least: int, room: int) -> bool:
    members = sorted(draft.rosters[cluster])
    if len(members) >= least or len(draft.rosters) == 1:
        return False
    homeless = [member for member in members if len(draft.memberships[member]) == 1]
    target = _nearest(draft, cluster, room - len(homeless))
    for member in members:
        if len(draft.memberships[member]) > 1:
            draft.leave(member, cluster)
        else:
            draft.assign(member, ((target, 1.0),))
    draft.drop(cluster)
    return True


def _nearest(draft: Draft, cluster: ClusterId, most: int) -> ClusterId:
    """The other cluster with the nearest centroid, of those with at most ``most`` members if there are any."""
    others = sorted(draft.rosters.keys() - {cluster})
    others = [other for other in others if len(draft.rosters[other]) <= most] or others
    scores = np.stack([draft.shapes[other].centroid for other in others]) @ draft.shapes[cluster].centroid
    return others[int(rounded(scores).argmax())]


def fold_overlapping(draft: Draft, jaccard: float, most: int) -> bool:
    """Fold pairs of clusters that share at least ``jaccard`` of their members; whether there was one.

    A pair whose union has at most ``most`` members becomes one cluster, the larger; others become twins: each shared
    member stays where it scores best. Without that memory the rule would hand the members back, and the fit would
    never come to rest.
    """
    found = False
    while pairs := _overlapping(draft, jaccard):
        found = True
        busy: set[ClusterId] = set()
        for pair in pairs:
            if busy.isdisjoint(pair):
                busy.update(pair)
                _fold(draft, pair, most)
    return found


def _overlapping(draft: Draft, jaccard: float) -> list[tuple[ClusterId, ClusterId]]:
    shared = Counter(
        pair
        for weights in draft.memberships.values()
        if len(weights) > 1
        for pair in combinations(sorted(cluster for cluster, _ in weights), 2)
    )
    sizes = {cluster: len(roster) for cluster, roster in draft.rosters.items()}
    found = [(both / (sizes[a] + sizes[b] - both), (a, b)) for (a, b), both in shared.items()]
    return [pair for part, pair in sorted(found, key=lambda item: (-item[0], item[1])) if part >= jaccard]


def _fold(draft: Draft, pair: tuple[ClusterId, ClusterId], most: int) -> None:
    into, other = sorted(pair, key=lambda cluster: (-len(draft.rosters[cluster]), cluster))
    shared = sorted(draft.rosters[into] & draft.rosters[other])
    if len(draft.rosters[into] | draft.rosters[other]) > most:
        draft.twins.add(pair)
        for member in shared:
            best = next(cluster for cluster, _ in draft.memberships[member] if cluster in pair)
            draft.leave(member, other if best == into else into)
        return
    for member in shared:
        draft.leave(member, other)
    for member in sorted(draft.rosters[other]):
        moved = tuple((into if c == other else c, weight) for c, weight in draft.memberships[member])
        draft.assign(member, moved)
    draft.drop(other)
    draft.reshape((into,))
