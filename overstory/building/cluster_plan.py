"""The cluster levels' part of a plan: bounds and an expectation, since memberships depend on texts to come."""

from __future__ import annotations

from collections.abc import Collection

from overstory.building.context import BuildContext
from overstory.building.parameters import cluster_parameters
from overstory.building.summaries import recipes_of
from overstory.freshness import judge
from overstory.identity import DocumentId
from overstory.nodes import NodeKind, NodeState
from overstory.planning import ClusterOutlook, Estimate, cluster_estimate
from overstory.ports import SummaryRequest
from overstory.record import ClusterTree
from overstory.sizes import base_tokens
from overstory.tree import cluster_target

FIRST_LEVEL = 2

PLACEHOLDER = "."
"""Stands for texts that are not written yet: the prompt around it is counted, they themselves by their targets."""


def plan_clusters(
    ctx: BuildContext, rewritten: Collection[DocumentId], gone: Collection[DocumentId], documents: int
) -> Estimate:
    """Least, expected and most of all cluster summaries after these documents change."""
    trees = [tree for tree in ctx.record.clusters.trees(ctx.name, FIRST_LEVEL) if tree.members]
    parameters = cluster_parameters(ctx.dataset.clusters)
    members = [member.member_id for tree in trees for member in tree.members]
    mean = len(members) / len(set(members)) if members else parameters.mean_for(documents)
    clusters = max(len(trees), parameters.clusters_for(documents))
    width = documents * mean / clusters if clusters else 0.0
    outlook = ClusterOutlook(
        documents=documents,
        clusters=clusters,
        stale=_stale(ctx, trees),
        changed=len(set(rewritten) | set(gone)),
        tokens_in=_tokens_in(ctx, width),
        tokens_out=base_tokens(NodeKind.CLUSTER_SUMMARY, ctx.dataset.summaries),
        first_build=not trees,
    )
    return cluster_estimate(outlook, ctx.dataset.prices, paid=ctx.summarizer.paid)


def _stale(ctx: BuildContext, trees: Collection[ClusterTree]) -> int:
    """Clusters that are not fresh whatever the documents do."""
    recipes = recipes_of(ctx)
    verdicts = [judge(tree.stored, cluster_target(tree, recipes).desired) for tree in trees]
    return sum(verdict.state is not NodeState.FRESH for verdict in verdicts)


def _tokens_in(ctx: BuildContext, members: float) -> int:
    """Input of an average cluster's call: the prompt, and each member's summary at its target length."""
    kind = NodeKind.CLUSTER_SUMMARY
    length = base_tokens(kind, ctx.dataset.summaries)
    _, overhead = ctx.summarizer.prompt_tokens(SummaryRequest("", kind, (PLACEHOLDER,), length, length))
    return overhead + round(members * base_tokens(NodeKind.DOCUMENT_SUMMARY, ctx.dataset.summaries))
