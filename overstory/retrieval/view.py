"""The view of one node: what it says, whether it is true, what it was made from and what was made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overstory.errors import SettingsError
from overstory.freshness import Verdict
from overstory.identity import ClusterId, DocumentId, NodeId, summary_id
from overstory.nodes import NodeKind, NodeState
from overstory.retrieval.ports import LeafRow, SearchStore, SummaryText
from overstory.retrieval.states import Judged, judge_clusters, judge_documents, leaf_verdict, reason, state_of
from overstory.tree import LeafRange, Recipes


@dataclass(frozen=True, slots=True)
class FactCounts:
    """What a summary kept of its sources' gated facts."""

    facts: int
    kept: int
    lost: tuple[str, ...]
    """The sources' words for facts that the summary does not state."""
    unsupported: tuple[str, ...]
    """The summary's words for facts that no source states."""


@dataclass(frozen=True, slots=True)
class NodeRef:
    """Another node, in a line."""

    node_id: NodeId
    kind: NodeKind
    label: str
    """A document's path, or a heading; empty for a cluster."""


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """A leaf beneath a node, down to the characters."""

    leaf_id: NodeId
    document_id: DocumentId
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node with its surroundings; of a summary that is missing or failed the text is empty."""

    node_id: NodeId
    kind: NodeKind
    level: int
    text: str
    context: str
    tokens: int
    state: NodeState
    reason: str
    """Why it is not fresh: the cause, or for a failed summary what was wrong with it."""
    path: str
    title: str
    headings: tuple[str, ...]
    ordinal: int
    start: int | None
    end: int | None
    document_id: DocumentId | None
    cluster_id: ClusterId | None
    children: tuple[NodeRef, ...]
    """What it was made from, in order."""
    parents: tuple[NodeRef, ...]
    """What was made from it."""
    leaves: tuple[LeafPlace, ...]
    """All leaves beneath it, itself if it is one."""
    facts: FactCounts | None
    """None for leaves and where no summary is stored."""
    content_hash: str
    """Of its text."""
    child_hash: str
    recipe_hash: str


@dataclass(frozen=True, slots=True)
class Viewer:
    """Views nodes of a dataset from one snapshot of the store."""

    store: SearchStore
    dataset: str
    recipes: Recipes
    chunk_recipe: str

    def view(self, name: str) -> NodeView | None:
        """The node of that id or unique beginning of one, or the summary of the document at that path.

        Raises:
            SettingsError: Several nodes' ids begin so.
        """
        found = self.store.identify(self.dataset, name) or self.store.identify(self.dataset, name.strip())
        if len(found) > 1:
            raise SettingsError(
                f"'{name}' is the beginning of {len(found)} or more ids",
                hint="Give more of it: " + ", ".join(node for _, node in found),
            )
        return self._view(*found[0]) if found else None

    def _view(self, what: str, identifier: str) -> NodeView | None:
        if what == "leaf":
            return self._leaf(NodeId(identifier))
        if what == "document":
            document = DocumentId(identifier)
            return self._summary(summary_id(NodeKind.DOCUMENT_SUMMARY, document), {document}, set())
        if what == "cluster":
            cluster = ClusterId(identifier)
            return self._summary(summary_id(NodeKind.CLUSTER_SUMMARY, cluster), set(), {cluster})
        node = NodeId(identifier)
        row = self.store.summary_rows(self.dataset, [node])[node]
        return self._summary(
            node, {row.document_id} if row.document_id else set(), {row.cluster_id} if row.cluster_id else set()
        )

    def _leaf(self, node: NodeId) -> NodeView:
        row = self.store.leaf_rows(self.dataset, [node])[node]
        verdict = leaf_verdict(row.document_id, self._changed({row.document_id}))
        judged = self._judged({row.document_id}, set())
        return NodeView(
            node_id=node,
            kind=NodeKind.LEAF,
            level=NodeKind.LEAF.level,
            text=row.text,
            context=row.context,
            tokens=row.tokens,
            state=verdict.state,
            reason=reason(verdict),
            path=row.path,
            title=row.title,
            headings=row.headings,
            ordinal=row.ordinal,
            start=row.start,
            end=row.end,
            document_id=row.document_id,
            cluster_id=None,
            children=(),
            parents=self._refs([parent for parent, each in judged.items() if node in each.children]),
            leaves=(_place(row),),
            facts=None,
            content_hash=row.content_hash,
            child_hash="",
            recipe_hash="",
        )

    def _summary(self, node: NodeId, documents: set[DocumentId], clusters: set[ClusterId]) -> NodeView | None:
        judged = self._judged(documents, clusters)
        row = self.store.summary_rows(self.dataset, [node]).get(node)
        if row is None and node not in judged:
            return None
        verdict = state_of(judged, node)
        kind = row.stored.kind if row else judged[node].target.kind
        children = judged[node].children if node in judged else ()
        below = self._below(node, judged)
        first = next(iter(below), None)
        return NodeView(
            node_id=node,
            kind=kind,
            level=row.level if row else judged[node].target.level,
            text=row.text if row else "",
            context="",
            tokens=row.tokens if row else 0,
            state=verdict.state,
            reason=_why(verdict, row, judged.get(node)),
            path=(row.path if row else first.path if first else "") if documents else "",
            title=(row.title if row else first.title if first else "") if documents else "",
            headings=(row.heading,) if row and row.heading else (),
            ordinal=row.stored.ordinal if row else 0,
            start=row.start if row else None,
            end=row.end if row else None,
            document_id=next(iter(documents), None),
            cluster_id=next(iter(clusters), None),
            children=self._refs(children),
            parents=self._parents(node, kind, documents, clusters, judged),
            leaves=tuple(_place(leaf) for leaf in below),
            facts=fact_counts(row.fact_check) if row else None,
            content_hash=row.stored.text_hash if row and not row.stored.failure else "",
            child_hash=row.stored.child_hash if row else "",
            recipe_hash=row.stored.recipe_hash if row else "",
        )

    def _changed(self, documents: set[DocumentId]) -> frozenset[DocumentId]:
        return self.store.changed(self.dataset, documents, self.chunk_recipe)

    def _judged(self, documents: set[DocumentId], clusters: set[ClusterId]) -> dict[NodeId, Judged]:
        trees = self.store.document_trees(self.dataset, documents) if documents else []
        judged = judge_documents(trees, self.recipes, self._changed(documents))
        if clusters:
            judged |= judge_clusters(self.store.cluster_trees(self.dataset, clusters), self.recipes)
        return judged

    def _parents(
        self,
        node: NodeId,
        kind: NodeKind,
        documents: set[DocumentId],
        clusters: set[ClusterId],
        judged: Mapping[NodeId, Judged],
    ) -> tuple[NodeRef, ...]:
        if kind in (NodeKind.DOCUMENT_SUMMARY, NodeKind.CLUSTER_SUMMARY):
            above = self.store.clusters_of(self.dataset, [*documents, *clusters])
            owners = [cluster for found in above.values() for cluster in found]
            return tuple(
                NodeRef(summary_id(NodeKind.CLUSTER_SUMMARY, cluster), NodeKind.CLUSTER_SUMMARY, "")
                for cluster in owners
            )
        return self._refs([parent for parent, each in judged.items() if node in each.children])

    def _below(self, node: NodeId, judged: Mapping[NodeId, Judged]) -> list[LeafRow]:
        """The leaves beneath a summary, by path and place."""
        scope = self.store.scopes(self.dataset, [node]).get(node)
        if node in judged and isinstance(judged[node].target.children, LeafRange):
            leaves: Iterable[NodeId] = judged[node].children
        elif scope is not None:
            listed = self.store.leaves_of(self.dataset, scope.documents)
            leaves = [leaf for found in listed.values() for leaf in found]
        else:
            leaves = ()
        rows = self.store.leaf_rows(self.dataset, list(leaves)).values()
        return sorted(rows, key=lambda row: (row.path, row.ordinal))

    def _refs(self, nodes: Sequence[NodeId]) -> tuple[NodeRef, ...]:
        leaves = self.store.leaf_rows(self.dataset, nodes)
        summaries = self.store.summary_rows(self.dataset, [node for node in nodes if node not in leaves])
        return tuple(
            _leaf_ref(leaves[node]) if node in leaves else _summary_ref(summaries[node])
            for node in nodes
            if node in leaves or node in summaries
        )


def fact_counts(record: Mapping[str, Any] | None) -> FactCounts | None:
    """The counts and words of a stored fact check; None where none was made."""
    if not record:
        return None
    return FactCounts(
        facts=record["facts"],
        kept=record["kept"],
        lost=tuple(fact["surface"] for fact in record["lost"]),
        unsupported=tuple(fact["surface"] for fact in record["unsupported"]),
    )


def _why(verdict: Verdict, row: SummaryText | None, judged: Judged | None) -> str:
    if verdict.state is NodeState.FAILED and row and row.stored.failure:
        return row.stored.failure
    return judged.target.blocked if judged and judged.target.blocked else reason(verdict)


def _place(row: LeafRow) -> LeafPlace:
    return LeafPlace(row.id, row.document_id, row.path, row.start, row.end)


def _leaf_ref(row: LeafRow) -> NodeRef:
    return NodeRef(row.id, NodeKind.LEAF, row.headings[-1] if row.headings else f"{row.start}-{row.end}")


def _summary_ref(row: SummaryText) -> NodeRef:
    return NodeRef(row.stored.id, row.stored.kind, row.heading or row.path)
