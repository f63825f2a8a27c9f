"""Verify and repair: find what a crash or a foreign hand left in the stores, and mend it without a call to a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from overstory.building.context import BuildContext
from overstory.building.health import examine
from overstory.building.invariants import Fault, Invariant, Violation, violations
from overstory.building.leaves import restore_vectors, serve
from overstory.building.report import StageReport
from overstory.clustering import ClusterModel
from overstory.identity import DocumentId, NodeId, ordered_child_hash
from overstory.inspection import Inspection
from overstory.nodes import NodeState

STAGE = "repair"

_STALE = {Fault.TEXT_HASH, Fault.CHILD_HASH, Fault.UNFIT}
"""Faults of a summary that the next build makes again; until then it is shown as stale."""
_REMOVED = {Fault.OUTLIVED, Fault.CHILDLESS}
"""Faults of a summary that describes nothing that is there."""
_FOREIGN = {Fault.FOREIGN_VECTOR, Fault.MISPLACED_VECTOR}
_UNREADABLE = {Fault.LEAF_HASH, Fault.LOST_CHILD, Fault.CHILD_HASH}
"""Faults of a document whose leaves cannot be trusted, where it is named."""
_MEMBERS = {Fault.OTHER_MEMBERS, Fault.LOST_MEMBER}
ROUNDS = 5
"""A summary that goes may leave one above it without a child: a round for each level."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did."""

    embedded: int
    """Texts that were embedded again; no other call is made."""
    left: tuple[Violation, ...]
    """What is still wrong."""


def verify(ctx: BuildContext, inspection: Inspection) -> list[Violation]:
    """Everything that is wrong with a dataset's stores; reads all of it."""
    return [*violations(ctx, inspection), *_damaged_trees(ctx), *_orphans(ctx)]


def repair(ctx: BuildContext, inspection: Inspection, found: Sequence[Violation]) -> Repaired:
    """Mend what ``verify`` has found; the dataset must be held.

    A summary with a wrong hash is marked stale, and a document whose leaves are damaged loses them: the next build
    makes the one again and reads the file of the other, from remembered answers where it can.
    """
    embedded, left = 0, list(found)
    for _ in range(ROUNDS):
        if not left:
            break
        _mend(ctx, left)
        embedded += _restore_vectors(ctx)
        left = verify(ctx, inspection)
    return Repaired(embedded, tuple(left))


def _mend(ctx: BuildContext, found: Sequence[Violation]) -> None:
    unreadable = _unreadable(found)
    with ctx.record.transaction() as record:
        gone = record.repairs.read_again(unreadable)
        gone += record.repairs.drop_dead(ctx.name) + record.repairs.drop_orphans(ctx.name)
        removed = _nodes(found, _REMOVED) | {NodeId(v.node_id) for v in found if _orphaned_summary(v)}
        record.summaries.delete(removed)
        stale = record.repairs.mark_stale(_nodes(found, _STALE) - removed)
        record.vectors.delete(ctx.name, {*gone, *removed, *stale, *_nodes(found, _FOREIGN)})
    if unreadable or any(violation.fault in _MEMBERS for violation in found):
        _restore_members(ctx)


def _restore_vectors(ctx: BuildContext) -> int:
    """Embed what lacks a vector; returns the number of texts."""
    report = StageReport(STAGE)
    ctx.record.vectors.prepare(ctx.name, ctx.embedder.embedding_hash, ctx.embedder.dimension)
    restore_vectors(ctx, None, report, {row.id: row.shard for row in ctx.record.documents.rows(ctx.name)})
    serve(ctx)
    return report.total.embedded


def _damaged_trees(ctx: BuildContext) -> Iterator[Violation]:
    """Documents whose leaves and sections are not those that their current version was cut into."""
    for tree in ctx.record.summaries.trees(ctx.name, with_leaves=True):
        hashes = [content for _, content in tree.leaves]
        if ordered_child_hash(hashes) != tree.child_hash:
            what = "its leaves are not those that its version was cut into"
            yield Violation(Invariant.CHILDREN, Fault.LOST_CHILD, tree.document_id, what, tree.document_id)
        for section in tree.sections:
            if ordered_child_hash(hashes[section.first_leaf : section.last_leaf + 1]) != section.child_hash:
                what = f"section {section.ordinal} has not the hash of its leaves"
                yield Violation(Invariant.HASHES, Fault.CHILD_HASH, tree.document_id, what, tree.document_id)


def _orphans(ctx: BuildContext) -> Iterator[Violation]:
    """What nothing asks for: answers of documents that are gone, clusters without members, summaries of neither."""
    for kind, name in ctx.record.repairs.orphans(ctx.name):
        what = "an answer of documents that are gone" if kind == "answer" else "a cluster without a member"
        yield Violation(Invariant.CHILDREN, Fault.ORPHAN, name, what)
    for node, (_, state) in examine(ctx).unfresh.items():
        if state is NodeState.ORPHANED:
            yield Violation(Invariant.CHILDREN, Fault.ORPHAN, node, _NOT_ASKED_FOR)


_NOT_ASKED_FOR = "a summary that nothing asks for"


def _orphaned_summary(violation: Violation) -> bool:
    return violation.fault is Fault.ORPHAN and violation.what == _NOT_ASKED_FOR


def _nodes(found: Sequence[Violation], faults: Collection[Fault]) -> set[NodeId]:
    return {NodeId(violation.node_id) for violation in found if violation.fault in faults}


def _unreadable(found: Sequence[Violation]) -> set[DocumentId]:
    """Documents whose leaves cannot be trusted."""
    return {
        DocumentId(violation.document_id)
        for violation in found
        if violation.fault in _UNREADABLE and violation.document_id
    }


def _restore_members(ctx: BuildContext) -> None:
    """Give clusters the members that their frozen model has, apart from those that have gone since."""
    with ctx.record.transaction() as record:
        existing: set[str] = {row.id for row in record.documents.rows(ctx.name)}
        for level in record.clusters.levels(ctx.name):
            stored = record.clusters.model(ctx.name, level)
            model = ClusterModel.from_bytes(stored.state) if stored else None
            held = {c: [m for m in model.members(c) if m[0] in existing] for c in model.ids} if model else {}
            wanted = {cluster: members for cluster, members in held.items() if members}
            record.vectors.delete(ctx.name, record.clusters.save(ctx.name, level, stored, wanted))
            existing = {str(cluster) for cluster in wanted}
