"""Which summaries ought to exist above leaves and members, and from what: pure, for builds and plans alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from overstory.freshness import Cause, Desired
from overstory.identity import (
    ClusterId,
    DocumentId,
    NodeId,
    VersionId,
    digest,
    ordered_child_hash,
    recipe_hash,
    summary_id,
    unordered_child_hash,
)
from overstory.nodes import NodeKind
from overstory.record import ClusterTree, DocumentTree, StoredSummary

PASSED_THROUGH = recipe_hash("passed through", "", "")
"""Recipe of a node with a single child: the child's text, without a call."""

Recipes = Callable[[NodeKind], str]


@dataclass(frozen=True, slots=True)
class LeafRange:
    """Leaves ``first`` to ``last`` of a version, both included."""

    version_id: VersionId
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Target:
    """A summary that ought to exist."""

    id: NodeId
    kind: NodeKind
    level: int
    shard: int
    ordinal: int
    desired: Desired
    children: LeafRange | tuple[NodeId, ...]
    """Leaves, or summaries in the order in which they are to be read."""
    document_id: DocumentId | None = None
    cluster_id: ClusterId | None = None
    edited: Cause | None = None
    """Why its document has another version than at first, if it has."""
    blocked: str = ""
    """Why it cannot be made yet, where ``desired.child_hash`` is None."""

    @property
    def single(self) -> bool:
        """Whether it has one child, which is passed through."""
        if isinstance(self.children, LeafRange):
            return self.children.first == self.children.last and self.kind is not NodeKind.CHUNK_SUMMARY
        return len(self.children) == 1

    @property
    def owner(self) -> str:
        """Id of the document or cluster that it summarizes."""
        return self.document_id or self.cluster_id or ""


def edited(tree: DocumentTree) -> Cause | None:
    """Why a document has another version than at first; None for the first one."""
    if tree.version_number == 1:
        return None
    return Cause.NEW_EXTRACTOR if tree.reextracted else Cause.EDITED


def chunk_targets(tree: DocumentTree, recipes: Recipes) -> list[Target]:
    """One chunk summary for each leaf of a document read with its leaves."""
    kind = NodeKind.CHUNK_SUMMARY
    return [
        Target(
            id=summary_id(kind, leaf),
            kind=kind,
            level=kind.level,
            shard=tree.shard,
            ordinal=ordinal,
            desired=Desired(ordered_child_hash([leaf_hash]), recipes(kind)),
            children=LeafRange(tree.version_id, ordinal, ordinal),
            document_id=tree.document_id,
            edited=edited(tree),
        )
        for ordinal, (leaf, leaf_hash) in enumerate(tree.leaves)
    ]


def section_targets(tree: DocumentTree, recipes: Recipes) -> list[Target]:
    """One summary for each section of a long document."""
    kind = NodeKind.SECTION_SUMMARY
    return [
        _passed_through(
            Target(
                id=section_id(tree, row.ordinal),
                kind=kind,
                level=kind.level,
                shard=tree.shard,
                ordinal=row.ordinal,
                desired=Desired(row.child_hash, recipes(kind)),
                children=LeafRange(tree.version_id, row.first_leaf, row.last_leaf),
                document_id=tree.document_id,
                edited=edited(tree),
            )
        )
        for row in tree.sections
    ]


def section_id(tree: DocumentTree, ordinal: int) -> NodeId:
    """The id of a document's section summary."""
    return summary_id(NodeKind.SECTION_SUMMARY, tree.document_id, str(ordinal))


def document_target(tree: DocumentTree, recipes: Recipes, stored: Mapping[NodeId, StoredSummary]) -> Target:
    """The summary of a document: over its section summaries as ``stored``, else over its leaves."""
    kind = NodeKind.DOCUMENT_SUMMARY
    child_hash, children, blocked = _document_children(tree, stored)
    return _passed_through(
        Target(
            id=summary_id(kind, tree.document_id),
            kind=kind,
            level=kind.level,
            shard=tree.shard,
            ordinal=0,
            desired=Desired(child_hash, recipes(kind)),
            children=children,
            document_id=tree.document_id,
            edited=edited(tree),
            blocked=blocked,
        )
    )


def _document_children(
    tree: DocumentTree, stored: Mapping[NodeId, StoredSummary]
) -> tuple[str | None, LeafRange | tuple[NodeId, ...], str]:
    if not tree.sections:
        return tree.child_hash, LeafRange(tree.version_id, 0, tree.leaf_count - 1), ""
    ids = tuple(section_id(tree, row.ordinal) for row in tree.sections)
    found = [stored.get(node) for node in ids]
    broken = [row for row, summary in zip(tree.sections, found, strict=True) if not _current(summary, row.child_hash)]
    if broken:
        return None, ids, f"section {broken[0].ordinal + 1} has no summary"
    return ordered_child_hash([summary.text_hash for summary in found if summary]), ids, ""


def _current(summary: StoredSummary | None, child_hash: str) -> bool:
    """Whether a section's summary describes the section as it is; a new recipe alone leaves the last good one."""
    return summary is not None and summary.failure is None and summary.child_hash == child_hash


def cluster_target(tree: ClusterTree, recipes: Recipes) -> Target:
    """The summary of a cluster, over the members that have one, sorted by hash so that names do not matter."""
    kind = NodeKind.CLUSTER_SUMMARY
    usable = sorted((m.text_hash, m.summary_id) for m in tree.members if m.text_hash and m.summary_id)
    child_hash = unordered_child_hash([text_hash for text_hash, _ in usable]) if usable else None
    return _passed_through(
        Target(
            id=summary_id(kind, tree.cluster_id),
            kind=kind,
            level=tree.level,
            shard=tree.shard,
            ordinal=0,
            desired=Desired(child_hash, recipes(kind)),
            children=tuple(node for _, node in usable),
            cluster_id=tree.cluster_id,
            blocked="" if usable else "none of its members has a summary",
        )
    )


def _passed_through(target: Target) -> Target:
    if not target.single:
        return target
    return replace(target, desired=replace(target.desired, recipe_hash=PASSED_THROUGH))


def merkle_root(hashes: Mapping[str, str]) -> str:
    """A data version: the hash of (id, hash) pairs, sorted by id; of nothing, the hash of no pairs."""
    return digest("root", *(field for key in sorted(hashes) for field in (key, hashes[key])))
