"""Index health: how many nodes of each kind are fresh, stale, missing, failed or orphaned, and since when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from overstory.building.context import BuildContext
from overstory.building.document_summaries import lower_targets
from overstory.building.leaves import Cutter
from overstory.building.recipe_ages import asked_since
from overstory.building.report import Problem
from overstory.building.summaries import name_problems, recipes_of
from overstory.failures import explain
from overstory.freshness import RECIPE_CAUSES, Cause, Desired, Verdict, judge
from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.nodes import NodeKind, NodeState
from overstory.record import ClusterTree, DocumentRow, DocumentTree, LevelHealth, StoredSummary
from overstory.tree import Target, cluster_target, document_target


@dataclass(frozen=True, slots=True)
class FailedNode:
    """A document or a summary that could not be made, in the words of a person."""

    subject: str
    """Id of the document or cluster."""
    path: str
    """Of the document; empty for a cluster."""
    reason: str
    """What it is, why it failed and what to do."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a dataset's index."""

    documents: int
    documents_failed: int
    documents_pending: int
    """Known to have changed, while their leaves are not current yet; what stands for them is stale."""
    levels: tuple[LevelHealth, ...]
    stale_since: datetime | None
    """When the oldest change that is not in the index yet was seen; None when nothing is stale."""
    unfresh: Mapping[str, tuple[Target, NodeState]]
    """Nodes that are not fresh, by id; orphaned ones too."""
    failures: tuple[FailedNode, ...] = ()
    """What has failed, documents that cannot be read first."""

    @property
    def staleness_rate(self) -> float:
        """Share of all nodes, 0 to 1, that are stale or missing."""
        total = sum(level.total for level in self.levels)
        return sum(level.stale + level.missing for level in self.levels) / total if total else 0.0

    @property
    def coverage(self) -> float:
        """Share of documents, 0 to 1, whose document summary is fresh; 1 for no documents."""
        fresh = sum(level.fresh for level in self.levels if level.kind is NodeKind.DOCUMENT_SUMMARY)
        return fresh / self.documents if self.documents else 1.0


def examine(ctx: BuildContext) -> Health:
    """The state of every node, recomputed from the record's hashes; reads only."""
    rows = ctx.record.documents.rows(ctx.name)
    recipe = Cutter(ctx.dataset.chunking, ctx.tokenizer).recipe
    pending = {item.document_id for item in ctx.record.documents.pending(ctx.name, recipe)}
    trees = ctx.record.summaries.trees(ctx.name, with_leaves=ctx.dataset.summaries.chunk)
    stored = {node: summary for tree in trees for node, summary in tree.stored.items()}
    clusters = [t for level in ctx.record.clusters.levels(ctx.name) for t in ctx.record.clusters.trees(ctx.name, level)]
    targets = _targets(ctx, trees, stored, clusters)
    # What cannot be read any more may have changed: what stands for it is the last that could.
    outdated = pending | {row.id for row in rows if row.failure}
    counts: dict[tuple[NodeKind, int], LevelHealth] = {}
    unfresh: dict[str, tuple[Target, NodeState]] = {}
    renewed: dict[str, Target] = {}
    for target, summary in targets:
        verdict = judge(summary, target.desired)
        state = verdict.state
        if verdict.cause in RECIPE_CAUSES and target.document_id not in outdated:
            renewed[target.id] = target
        if state is NodeState.FRESH and target.document_id in outdated:
            state = NodeState.STALE
        _add(counts, target.kind, target.level, state)
        if state is not NodeState.FRESH:
            unfresh[target.id] = (target, state)
    wanted = {target.id for target, _ in targets}
    for target in _orphans(trees, clusters, wanted):
        _add(counts, target.kind, target.level, NodeState.ORPHANED)
        unfresh[target.id] = (target, NodeState.ORPHANED)
    for tree in trees:
        state = NodeState.STALE if tree.document_id in outdated else NodeState.FRESH
        _add(counts, NodeKind.LEAF, 0, state, tree.leaf_count)
    return Health(
        documents=len(rows),
        documents_failed=sum(row.failure is not None for row in rows),
        documents_pending=len(pending),
        levels=tuple(sorted(counts.values(), key=lambda level: (level.level, _ORDER[level.kind]))),
        stale_since=_stale_since(
            ctx, [found for node, found in unfresh.items() if node not in renewed], pending, renewed.values()
        ),
        unfresh=unfresh,
        failures=_failures(rows, trees, targets),
    )


def _failures(
    rows: Sequence[DocumentRow],
    trees: Sequence[DocumentTree],
    targets: Sequence[tuple[Target, StoredSummary | None]],
) -> tuple[FailedNode, ...]:
    """What failed when it was last tried, for the text and the recipe that stand."""
    unread = [FailedNode(row.id, row.path, row.failure) for row in rows if row.failure]
    failed = [
        Problem(target.owner, explain(summary.failure), "", target.kind, target.ordinal)
        for target, summary in targets
        if summary is not None and summary.failure and judge(summary, target.desired).state is NodeState.FAILED
    ]
    named = name_problems(failed, {str(row.id): row.path for row in rows}, trees)
    return (*unread, *(FailedNode(problem.subject, problem.path, problem.reason) for problem in named))


_ORDER = {kind: place for place, kind in enumerate(NodeKind)}


def _targets(
    ctx: BuildContext,
    trees: list[DocumentTree],
    stored: Mapping[NodeId, StoredSummary],
    clusters: list[ClusterTree],
) -> list[tuple[Target, StoredSummary | None]]:
    recipes = recipes_of(ctx)
    lower = lower_targets(trees, recipes, with_chunks=ctx.dataset.summaries.chunk)
    upper = [document_target(tree, recipes, stored) for tree in trees]
    found = [(target, stored.get(target.id)) for target in (*lower, *upper)]
    # A cluster without members is none: its summary is an orphan.
    return found + [(cluster_target(tree, recipes), tree.stored) for tree in clusters if tree.members]


def _orphans(
    trees: Iterable[DocumentTree], clusters: Iterable[ClusterTree], wanted: Collection[NodeId]
) -> Iterator[Target]:
    """Stored summaries that nothing asks for any more."""
    for tree in trees:
        for summary in tree.stored.values():
            if summary.id not in wanted:
                yield _orphan(summary, summary.kind.level, tree.shard, document=tree.document_id)
    for cluster in clusters:
        if cluster.stored and not cluster.members:
            yield _orphan(cluster.stored, cluster.level, cluster.shard, cluster=cluster.cluster_id)


def _orphan(
    summary: StoredSummary,
    level: int,
    shard: int,
    *,
    document: DocumentId | None = None,
    cluster: ClusterId | None = None,
) -> Target:
    return Target(
        id=summary.id,
        kind=summary.kind,
        level=level,
        shard=shard,
        ordinal=summary.ordinal,
        desired=Desired(None, summary.recipe_hash),
        children=(),
        document_id=document,
        cluster_id=cluster,
        blocked="nothing asks for it",
    )


def _add(
    counts: dict[tuple[NodeKind, int], LevelHealth], kind: NodeKind, level: int, state: NodeState, number: int = 1
) -> None:
    now = counts.get((kind, level)) or LevelHealth(kind, level)
    counts[kind, level] = replace(now, **{state.value: getattr(now, state.value) + number})


def _stale_since(
    ctx: BuildContext,
    unfresh: Iterable[tuple[Target, NodeState]],
    pending: set[DocumentId],
    renewed: Collection[Target],
) -> datetime | None:
    """Since when the oldest node is behind; failed nodes are no matter of time.

    Args:
        ctx: Of the look.
        unfresh: Nodes that are not fresh, but those that only a new recipe made stale.
        pending: Documents whose leaves are not current.
        renewed: What only a new recipe made stale.
    """
    behind = [target for target, state in unfresh if state in (NodeState.STALE, NodeState.MISSING)]
    documents = {target.document_id for target in behind if target.document_id} | pending
    changed = ctx.record.oldest_change(documents, {target.cluster_id for target in behind if target.cluster_id})
    asked = asked_since(ctx, {(target.kind, target.desired.recipe_hash) for target in renewed})
    return min([*asked, *([changed] if changed else [])], default=None)


EDITED = Verdict(NodeState.STALE, Cause.EDITED)
"""On what describes the text before a change that waits to be cut."""
UNREAD = Verdict(NodeState.STALE, Cause.UNREAD)
"""On what describes a document that cannot be read any more."""


@dataclass(frozen=True, slots=True)
class DocumentHealth:
    """The state of one document's nodes, and of the clusters that it belongs to."""

    row: DocumentRow
    leaves: int
    nodes: tuple[tuple[Target, Verdict], ...]


def examine_document(ctx: BuildContext, document: DocumentId) -> DocumentHealth | None:
    """The state of a document's nodes and clusters; None where the record does not know it."""
    row = next((row for row in ctx.record.documents.rows(ctx.name) if row.id == document), None)
    if row is None:
        return None
    with_leaves = ctx.dataset.summaries.chunk
    trees = ctx.record.summaries.trees(ctx.name, {row.shard}, with_leaves=with_leaves)
    tree = next((tree for tree in trees if tree.document_id == document), None)
    recipe = Cutter(ctx.dataset.chunking, ctx.tokenizer).recipe
    waits = any(item.document_id == document for item in ctx.record.documents.pending(ctx.name, recipe, {row.shard}))
    recipes = recipes_of(ctx)
    found: list[tuple[Target, Verdict]] = []
    if tree is not None:
        targets = [
            *lower_targets([tree], recipes, with_chunks=with_leaves),
            document_target(tree, recipes, tree.stored),
        ]
        found = [(t, judge(tree.stored.get(t.id), t.desired, edited=t.edited)) for t in targets]
        if waits or row.failure:
            behind = UNREAD if row.failure else EDITED
            found = [(t, behind if verdict.state is NodeState.FRESH else verdict) for t, verdict in found]
    for level in ctx.record.clusters.levels(ctx.name):
        for cluster in ctx.record.clusters.trees(ctx.name, level):
            if document in {member.member_id for member in cluster.members}:
                target = cluster_target(cluster, recipes)
                found.append((target, judge(cluster.stored, target.desired)))
    return DocumentHealth(row, tree.leaf_count if tree else 0, tuple(found))
