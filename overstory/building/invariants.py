"""What holds for every index after every build, read back from the stores.

I5, that a build without changes does nothing, is a statement about two builds: the scenario tests make it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from overstory.building.context import BuildContext
from overstory.building.health import examine
from overstory.clustering import ClusterModel
from overstory.identity import content_hash, ordered_child_hash, unordered_child_hash
from overstory.inspection import HeldLeaf, HeldMembership, HeldSection, HeldSummary, HeldVector, Inspection
from overstory.nodes import NodeKind


class Invariant(StrEnum):
    """A statement that is true of every index."""

    VECTORS = "I1"
    """Every row that should have a vector has exactly one, of the current embedding, and every vector a row."""
    VERSIONS = "I2"
    """No served node belongs to a document version that is not current."""
    CHILDREN = "I3"
    """Every child exists."""
    HASHES = "I4"
    """The child hash, recomputed from the children, is the stored one for every node reported fresh."""
    FRESH = "I6"
    """A fresh node has a text and a recorded fact check."""


class Fault(StrEnum):
    """What is wrong with a node, in the words that ``verify`` uses."""

    NO_VECTOR = "row without a vector"
    FOREIGN_VECTOR = "vector without a row"
    OTHER_EMBEDDING = "vector of another embedding"
    MISPLACED_VECTOR = "vector at the wrong place"
    DEAD_VERSION = "node of a dead version"
    OUTLIVED = "summary of a former version"
    LOST_MEMBER = "missing child of a cluster"
    OTHER_MEMBERS = "members differ from the model"
    CHILDLESS = "summary of nothing"
    LOST_CHILD = "missing child"
    LEAF_HASH = "wrong hash of a leaf"
    TEXT_HASH = "wrong hash of a text"
    CHILD_HASH = "wrong child hash"
    UNFIT = "fresh without a text or a check"
    ORPHAN = "orphan"


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold."""

    invariant: Invariant
    fault: Fault
    node_id: str
    what: str
    """For people; holds no text of a document."""
    document_id: str | None = None
    """The document that has to be read again, where one does."""

    def __str__(self) -> str:
        """The violation on one line."""
        return f"{self.invariant}: {self.node_id}: {self.what}"


@dataclass(frozen=True, slots=True)
class _Stores:
    """Everything that is held, with who belongs to whom."""

    leaves: Sequence[HeldLeaf]
    sections: Sequence[HeldSection]
    summaries: Sequence[HeldSummary]
    memberships: Sequence[HeldMembership]
    rosters: Mapping[int, frozenset[tuple[str, str]]]
    """(cluster, member) as the frozen models have them, by level."""
    documents: frozenset[str]
    """Ids of all documents."""
    vectors: Sequence[HeldVector]
    fresh: frozenset[str]
    """Ids of the summaries that are reported fresh."""
    embedding: str
    """The embedding in use."""

    @property
    def usable(self) -> list[HeldSummary]:
        """Summaries that are served."""
        return [summary for summary in self.summaries if summary.failure is None]


def violations(ctx: BuildContext, inspection: Inspection) -> list[Violation]:
    """Every violation of I1, I2, I3, I4 and I6 in a dataset; reads all of it, so it is meant for checks at leisure."""
    stores = _read(ctx, inspection)
    return [violation for check in _CHECKS for violation in check(stores)]


def _read(ctx: BuildContext, inspection: Inspection) -> _Stores:
    unfresh = examine(ctx).unfresh
    summaries = inspection.summaries(ctx.name)
    return _Stores(
        leaves=inspection.leaves(ctx.name),
        sections=inspection.sections(ctx.name),
        summaries=summaries,
        memberships=inspection.memberships(ctx.name),
        rosters=_rosters(ctx),
        documents=frozenset(row.id for row in ctx.record.documents.rows(ctx.name)),
        vectors=inspection.vectors(ctx.name),
        fresh=frozenset(summary.id for summary in summaries if summary.id not in unfresh),
        embedding=ctx.embedder.embedding_hash,
    )


def _rosters(ctx: BuildContext) -> dict[int, frozenset[tuple[str, str]]]:
    models = {level: ctx.record.clusters.model(ctx.name, level) for level in ctx.record.clusters.levels(ctx.name)}
    loaded = {level: ClusterModel.from_bytes(model.state) for level, model in models.items() if model}
    return {
        level: frozenset((cluster, member) for cluster, roster in model.rosters.items() for member in roster)
        for level, model in loaded.items()
    }


def _vectors(stores: _Stores) -> Iterator[Violation]:
    """I1."""
    expected: dict[str, tuple[str, int, str | None]] = {
        leaf.id: (NodeKind.LEAF, 0, leaf.document_id) for leaf in stores.leaves if leaf.current
    }
    expected |= {summary.id: (summary.kind, summary.level, summary.document_id) for summary in stores.usable}
    found = Counter(vector.node_id for vector in stores.vectors if vector.embedding_hash == stores.embedding)
    for node in expected:
        if found[node] != 1:
            yield Violation(
                Invariant.VECTORS, Fault.NO_VECTOR, node, f"it has {found[node]} vectors of the embedding in use"
            )
    for vector in stores.vectors:
        if vector.embedding_hash != stores.embedding:
            yield Violation(
                Invariant.VECTORS, Fault.OTHER_EMBEDDING, vector.node_id, "a vector of it is of another embedding"
            )
        elif vector.node_id not in expected:
            yield Violation(
                Invariant.VECTORS, Fault.FOREIGN_VECTOR, vector.node_id, "a vector has no row that is served"
            )
        elif expected[vector.node_id] != (vector.kind, vector.level, vector.document_id):
            yield Violation(
                Invariant.VECTORS,
                Fault.MISPLACED_VECTOR,
                vector.node_id,
                "its vector names another kind, level or document",
            )


def _versions(stores: _Stores) -> Iterator[Violation]:
    """I2."""
    for leaf in stores.leaves:
        if leaf.version_id is None:
            yield Violation(Invariant.VERSIONS, Fault.DEAD_VERSION, leaf.id, "no version holds this leaf")
        elif not leaf.current:
            yield Violation(
                Invariant.VERSIONS, Fault.DEAD_VERSION, leaf.id, "a version that is not current holds this leaf"
            )
    for section in stores.sections:
        if not section.current:
            yield Violation(
                Invariant.VERSIONS,
                Fault.DEAD_VERSION,
                section.version_id,
                "a version that is not current has a section",
            )
    for summary in stores.usable:
        if summary.outlived:
            yield Violation(
                Invariant.VERSIONS,
                Fault.OUTLIVED,
                summary.id,
                "it was made before its document's version became current",
            )


def _children(stores: _Stores) -> Iterator[Violation]:
    """I3."""
    for member in stores.memberships:
        if not member.exists:
            yield Violation(
                Invariant.CHILDREN,
                Fault.LOST_MEMBER,
                member.cluster_id,
                f"its member {member.member_id} does not exist",
            )
    yield from _members(stores)
    children = _Children(stores)
    for summary in stores.usable:
        found = children.of(summary)
        if not found:
            yield Violation(Invariant.CHILDREN, Fault.CHILDLESS, summary.id, "it has no child", summary.document_id)
        elif summary.id in stores.fresh and None in found:
            yield Violation(
                Invariant.CHILDREN, Fault.LOST_CHILD, summary.id, "a child of it does not exist", summary.document_id
            )


def _members(stores: _Stores) -> Iterator[Violation]:
    """The clusters' members are those of the frozen models, apart from members that have gone since."""
    existing: frozenset[str] = stores.documents
    for level in sorted(stores.rosters.keys() | {member.level for member in stores.memberships}):
        stored = {(m.cluster_id, m.member_id) for m in stores.memberships if m.level == level and m.exists}
        modeled = {(cluster, member) for cluster, member in stores.rosters.get(level, ()) if member in existing}
        for cluster, member in sorted(stored ^ modeled):
            where = "is in its model alone" if (cluster, member) in modeled else "is not in its model"
            yield Violation(Invariant.CHILDREN, Fault.OTHER_MEMBERS, cluster, f"its member {member} {where}")
        existing = frozenset(cluster for cluster, _ in stored)


def _hashes(stores: _Stores) -> Iterator[Violation]:
    """I4."""
    for leaf in stores.leaves:
        if content_hash(leaf.readable) != leaf.content_hash:
            yield Violation(
                Invariant.HASHES, Fault.LEAF_HASH, leaf.id, "its content hash is not that of its text", leaf.document_id
            )
    children = _Children(stores)
    for summary in stores.usable:
        if content_hash(summary.text) != summary.text_hash:
            yield Violation(Invariant.HASHES, Fault.TEXT_HASH, summary.id, "its text hash is not that of its text")
        if summary.id not in stores.fresh:
            continue
        texts = [text for text in children.of(summary) if text is not None]
        if _child_hash(summary, texts) != summary.child_hash:
            yield Violation(
                Invariant.HASHES,
                Fault.CHILD_HASH,
                summary.id,
                "it is reported fresh, but its children say something else",
            )


def _fresh(stores: _Stores) -> Iterator[Violation]:
    """I6."""
    for summary in stores.summaries:
        if summary.id not in stores.fresh:
            continue
        if not summary.text.strip():
            yield Violation(Invariant.FRESH, Fault.UNFIT, summary.id, "it is reported fresh without a text")
        if not summary.checked:
            yield Violation(Invariant.FRESH, Fault.UNFIT, summary.id, "it is reported fresh without a fact check")


_CHECKS: tuple[Callable[[_Stores], Iterator[Violation]], ...] = (_vectors, _versions, _children, _hashes, _fresh)


def _child_hash(summary: HeldSummary, texts: Sequence[str]) -> str:
    hashes = [content_hash(text) for text in texts]
    return unordered_child_hash(hashes) if summary.cluster_id else ordered_child_hash(hashes)


class _Children:
    """The texts of summaries' children, found from rows alone."""

    def __init__(self, stores: _Stores) -> None:
        leaves: dict[str, dict[int, str]] = defaultdict(dict)
        for leaf in stores.leaves:
            if leaf.current:
                leaves[leaf.document_id][leaf.ordinal] = leaf.readable
        self._leaves: Mapping[str, dict[int, str]] = leaves
        self._sections: dict[str, list[HeldSection]] = defaultdict(list)
        for section in stores.sections:
            if section.current:
                self._sections[section.document_id].append(section)
        self._members: dict[str, list[str]] = defaultdict(list)
        for member in stores.memberships:
            self._members[member.cluster_id].append(member.member_id)
        usable = stores.usable
        self._of_section = {
            (s.document_id, s.ordinal): s.text for s in usable if s.kind == NodeKind.SECTION_SUMMARY and s.document_id
        }
        self._of_member = {
            s.document_id or s.cluster_id: s.text
            for s in usable
            if s.kind in (NodeKind.DOCUMENT_SUMMARY, NodeKind.CLUSTER_SUMMARY)
        }

    def of(self, summary: HeldSummary) -> list[str | None]:
        """The texts of a summary's children, in order; None for one that does not exist."""
        if summary.cluster_id:
            # A member without a usable summary is no child: its cluster is made from the others.
            texts = [self._of_member.get(member) for member in self._members[summary.cluster_id]]
            return [text for text in texts if text is not None]
        document = summary.document_id or ""
        if summary.kind == NodeKind.CHUNK_SUMMARY:
            return self._range(document, summary.ordinal, summary.ordinal)
        if summary.kind == NodeKind.SECTION_SUMMARY:
            section = next((s for s in self._sections[document] if s.ordinal == summary.ordinal), None)
            return self._range(document, section.first_leaf, section.last_leaf) if section else []
        if self._sections[document]:
            return [self._of_section.get((document, section.ordinal)) for section in self._sections[document]]
        return self._range(document, 0, len(self._leaves[document]) - 1)

    def _range(self, document: str, first: int, last: int) -> list[str | None]:
        held = self._leaves[document]
        return [held.get(ordinal) for ordinal in range(first, last + 1)]
