"""What each shard of a level holds: its data version as one hash, whose nodes they are, and how many are behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from overstory.building.context import BuildContext
from overstory.building.document_summaries import lower_targets
from overstory.building.leaves import Cutter
from overstory.building.summaries import recipes_of
from overstory.freshness import judge
from overstory.identity import NodeId, unordered_child_hash
from overstory.nodes import NodeState
from overstory.record import StoredSummary
from overstory.tree import Target, cluster_target, document_target, merkle_root

BEHIND = (NodeState.STALE, NodeState.MISSING)


@dataclass(slots=True)
class ShardState:
    """One shard of a level."""

    owners: list[str] = field(default_factory=list)
    """Ids of its documents or clusters, sorted."""
    nodes: int = 0
    behind: int = 0
    """Nodes that are stale or missing."""
    hashes: dict[str, str] = field(default_factory=dict)
    """What the data version is made of, by id."""

    @property
    def version(self) -> str:
        """The data version: a Merkle root, so that equal states have equal ones."""
        return merkle_root(self.hashes)

    @property
    def staleness(self) -> float:
        """Share of its nodes, 0 to 1, that are stale or missing."""
        return self.behind / self.nodes if self.nodes else 0.0


def document_states(ctx: BuildContext, shards: Collection[int]) -> dict[int, ShardState]:
    """Of source documents; one that cannot be read may have changed and counts as behind."""
    states = _empty(shards)
    for row in ctx.record.documents.rows(ctx.name, shards):
        state = states[row.shard]
        state.owners.append(row.id)
        state.hashes[row.id] = row.content_hash or ""
        state.nodes += 1
        state.behind += row.failure is not None
    return _sorted(states)


def leaf_states(ctx: BuildContext, shards: Collection[int]) -> dict[int, ShardState]:
    """Of leaves; all those of a document that waits to be cut are behind."""
    states = _empty(shards)
    recipe = Cutter(ctx.dataset.chunking, ctx.tokenizer).recipe
    waiting = {pending.document_id for pending in ctx.record.documents.pending(ctx.name, recipe, shards)}
    for tree in ctx.record.summaries.trees(ctx.name, shards):
        state = states[tree.shard]
        state.owners.append(tree.document_id)
        state.hashes[tree.document_id] = tree.child_hash
        state.nodes += tree.leaf_count
        state.behind += tree.leaf_count if tree.document_id in waiting else 0
    return _sorted(states)


def summary_states(ctx: BuildContext, shards: Collection[int]) -> dict[int, ShardState]:
    """Of all summaries up to the document; a failed one counts as an empty text, and is not behind."""
    states = _empty(shards)
    with_chunks = ctx.dataset.summaries.chunk
    trees = ctx.record.summaries.trees(ctx.name, shards, with_leaves=with_chunks)
    recipes = recipes_of(ctx)
    targets = lower_targets(trees, recipes, with_chunks=with_chunks)
    stored: dict[NodeId, StoredSummary] = {}
    for tree in trees:
        targets.append(document_target(tree, recipes, tree.stored))
        stored |= tree.stored
        state = states[tree.shard]
        state.owners.append(tree.document_id)
        state.hashes |= {node.id: _text_hash(node) for node in tree.stored.values()}
    _judge(states, ((target, stored.get(target.id)) for target in targets))
    return _sorted(states)


def cluster_states(ctx: BuildContext, shards: Collection[int]) -> dict[int, ShardState]:
    """Of all cluster summaries; a failed or missing one counts as an empty text."""
    states = _empty(shards)
    recipes = recipes_of(ctx)
    levels = ctx.record.clusters.levels(ctx.name)
    trees = [tree for level in levels for tree in ctx.record.clusters.trees(ctx.name, level, shards)]
    for tree in trees:
        state = states[tree.shard]
        state.owners.append(tree.cluster_id)
        state.hashes[tree.cluster_id] = _text_hash(tree.stored)
    _judge(states, ((cluster_target(tree, recipes), tree.stored) for tree in trees if tree.members))
    return _sorted(states)


def membership_version(ctx: BuildContext) -> str:
    """The root over all clusters' members."""
    return merkle_root(
        {
            str(tree.cluster_id): unordered_child_hash([member.member_id for member in tree.members])
            for level in ctx.record.clusters.levels(ctx.name)
            for tree in ctx.record.clusters.trees(ctx.name, level)
        }
    )


def _empty(shards: Collection[int]) -> dict[int, ShardState]:
    states: dict[int, ShardState] = defaultdict(ShardState)
    for shard in shards:
        states[shard] = ShardState()
    return states


def _sorted(states: dict[int, ShardState]) -> dict[int, ShardState]:
    for state in states.values():
        state.owners.sort()
    return states


def _text_hash(node: StoredSummary | None) -> str:
    return node.text_hash if node and not node.failure else ""


def _judge(states: dict[int, ShardState], nodes: Iterable[tuple[Target, StoredSummary | None]]) -> None:
    for target, summary in nodes:
        states[target.shard].nodes += 1
        states[target.shard].behind += judge(summary, target.desired).state in BEHIND
