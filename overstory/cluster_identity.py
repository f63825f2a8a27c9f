"""Carries the ids of clusters over to a clustering made anew, where the members stayed together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set

from overstory.identity import ClusterId

LEAST_OVERLAP = 0.5
"""From this Jaccard similarity on, a new cluster is the old one: an old one has then hardly a second heir."""


def overlaps(
    old: Mapping[ClusterId, Set[str]], new: Mapping[ClusterId, Set[str]]
) -> list[tuple[float, ClusterId, ClusterId]]:
    """Jaccard similarity, old id and new id of all pairs that share a member, the most similar first."""
    owners: dict[str, list[ClusterId]] = {}
    for cluster, roster in old.items():
        for member in roster:
            owners.setdefault(member, []).append(cluster)
    shared = Counter((o, n) for n, roster in new.items() for member in roster for o in owners.get(member, ()))
    pairs = [(both / (len(old[o]) + len(new[n]) - both), o, n) for (o, n), both in shared.items()]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))


def carry_ids(old: Mapping[ClusterId, Set[str]], new: Mapping[ClusterId, Set[str]]) -> dict[ClusterId, ClusterId]:
    """The id each new cluster is to have: that of the old cluster it shares at least half with, else its own.

    Pairs are taken from the most similar down; each old id is given once. Every new cluster is a key.
    """
    names: dict[ClusterId, ClusterId] = {}
    given: set[ClusterId] = set()
    for similarity, before, after in overlaps(old, new):
        if similarity >= LEAST_OVERLAP and before not in given and after not in names:
            names[after] = before
            given.add(before)
    return {cluster: names.get(cluster, cluster) for cluster in new}
