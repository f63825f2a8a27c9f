"""The states of just those nodes that are served, recomputed from hashes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from overstory.freshness import Cause, Verdict, judge
from overstory.identity import DocumentId, NodeId
from overstory.nodes import NodeKind, NodeState
from overstory.record import ClusterTree, DocumentTree, StoredSummary
from overstory.tree import LeafRange, Recipes, Target, chunk_targets, cluster_target, document_target, section_targets


@dataclass(frozen=True, slots=True)
class Judged:
    """A summary that ought to exist: its state and its children."""

    target: Target
    stored: StoredSummary | None
    verdict: Verdict
    children: tuple[NodeId, ...]
    """Ids of leaves or summaries, in the order in which they are read."""


def leaf_verdict(document: DocumentId, changed: Collection[DocumentId]) -> Verdict:
    """The state of a current leaf: stale while a newer version of its document waits to be cut."""
    return Verdict(NodeState.STALE, Cause.EDITED) if document in changed else Verdict(NodeState.FRESH)


def judge_documents(
    trees: Iterable[DocumentTree], recipes: Recipes, changed: Collection[DocumentId]
) -> dict[NodeId, Judged]:
    """Every summary that documents ought to have, chunk summaries too where one is stored; trees with their leaves.

    What describes the current version is stale as well once a newer one is known.
    """
    found: dict[NodeId, Judged] = {}
    for tree in trees:
        wanted = any(stored.kind is NodeKind.CHUNK_SUMMARY for stored in tree.stored.values())
        chunks = [t for t in chunk_targets(tree, recipes) if t.id in tree.stored] if wanted else []
        upper = document_target(tree, recipes, tree.stored)
        for target in (*chunks, *section_targets(tree, recipes), upper):
            stored = tree.stored.get(target.id)
            verdict = judge(stored, target.desired, edited=target.edited)
            if tree.document_id in changed and verdict.state is NodeState.FRESH:
                verdict = Verdict(NodeState.STALE, Cause.EDITED)
            found[target.id] = Judged(target, stored, verdict, _children(tree, target))
    return found


def judge_clusters(trees: Iterable[ClusterTree], recipes: Recipes) -> dict[NodeId, Judged]:
    """The summaries that clusters ought to have."""
    found = {}
    for tree in trees:
        target = cluster_target(tree, recipes)
        children = target.children if isinstance(target.children, tuple) else ()
        found[target.id] = Judged(target, tree.stored, judge(tree.stored, target.desired), children)
    return found


def state_of(judged: Mapping[NodeId, Judged], node: NodeId) -> Verdict:
    """The verdict on a node; orphaned where nothing asks for it."""
    return judged[node].verdict if node in judged else Verdict(NodeState.ORPHANED)


def reason(verdict: Verdict) -> str:
    """Why a node is not fresh, in words; empty for a fresh one."""
    return "" if verdict.state is NodeState.FRESH else str(verdict.cause or "its source is gone")


def _children(tree: DocumentTree, target: Target) -> tuple[NodeId, ...]:
    if isinstance(target.children, LeafRange):
        return tuple(leaf for leaf, _ in tree.leaves[target.children.first : target.children.last + 1])
    return target.children
