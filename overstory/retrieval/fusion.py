"""Reciprocal rank fusion: one ranking from several whose scores cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overstory.identity import NodeId

RANK_CONSTANT = 10
"""How slowly a rank loses weight. The paper's 60 flattens two short rankings (docs/decisions/0008-search.md)."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Nodes in the order of one kind of evidence, the best first."""

    nodes: Sequence[NodeId]
    weight: float = 1.0


def fuse(rankings: Sequence[Ranking], constant: int = RANK_CONSTANT) -> dict[NodeId, float]:
    """Scores of all nodes, best first, ties by id: the weighted sum of ``1 / (constant + rank)``.

    Scores are divided by the highest possible one: 1.0 is first in every ranking, more than 0 is in one of them.
    Source: Cormack, Clarke, Büttcher, Reciprocal Rank Fusion, SIGIR 2009; weights are ours.
    """
    highest = sum(ranking.weight for ranking in rankings) / (constant + 1)
    scores: dict[NodeId, float] = {}
    for ranking in rankings:
        for rank, node in enumerate(ranking.nodes, start=1):
            scores[node] = scores.get(node, 0.0) + ranking.weight / (constant + rank)
    ordered = sorted(scores, key=lambda node: (-scores[node], node))
    return {node: scores[node] / highest for node in ordered}
