"""Data versions: what each shard of a level holds, as one hash, so that equal states have equal versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from overstory.building.context import BuildContext
from overstory.identity import unordered_child_hash
from overstory.tree import merkle_root


def document_versions(ctx: BuildContext, shards: Collection[int]) -> dict[int, str]:
    """By shard: the root over the content hashes of its documents."""
    rows = ctx.record.documents.rows(ctx.name, shards)
    return roots(shards, ((row.shard, row.id, row.content_hash or "") for row in rows))


def leaf_versions(ctx: BuildContext, shards: Collection[int]) -> dict[int, str]:
    """By shard: the root over the child hashes of its documents' current versions."""
    trees = ctx.record.summaries.trees(ctx.name, shards)
    return roots(shards, ((tree.shard, tree.document_id, tree.child_hash) for tree in trees))


def summary_versions(ctx: BuildContext, shards: Collection[int]) -> dict[int, str]:
    """By shard: the root over the texts of its documents' summaries; a failed one counts as an empty text."""
    trees = ctx.record.summaries.trees(ctx.name, shards)
    nodes = ((tree.shard, node) for tree in trees for node in tree.stored.values())
    return roots(shards, ((shard, node.id, "" if node.failure else node.text_hash) for shard, node in nodes))


def cluster_versions(ctx: BuildContext, shards: Collection[int]) -> dict[int, str]:
    """By shard: the root over the texts of its clusters' summaries; a failed or missing one counts as empty."""
    levels = ctx.record.clusters.levels(ctx.name)
    trees = (tree for level in levels for tree in ctx.record.clusters.trees(ctx.name, level, shards))
    stored = ((tree.shard, tree.cluster_id, tree.stored) for tree in trees)
    return roots(
        shards, ((shard, key, node.text_hash if node and not node.failure else "") for shard, key, node in stored)
    )


def membership_version(ctx: BuildContext) -> str:
    """The root over all clusters' members."""
    members = {
        str(tree.cluster_id): unordered_child_hash([member.member_id for member in tree.members])
        for level in ctx.record.clusters.levels(ctx.name)
        for tree in ctx.record.clusters.trees(ctx.name, level)
    }
    return merkle_root(members)


def roots(shards: Collection[int], hashes: Iterable[tuple[int, str, str]]) -> dict[int, str]:
    """By shard, the root over its (id, hash) pairs; shards without any have the root of nothing."""
    found: Mapping[int, dict[str, str]] = defaultdict(dict)
    for shard, key, value in hashes:
        found[shard][key] = value
    return {shard: merkle_root(found[shard]) for shard in shards}
