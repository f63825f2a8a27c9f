"""Texts in the record that a build would embed: after a change of embedder, or where a store lost vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from overstory.building.context import BuildContext
from overstory.freshness import Cause
from overstory.identity import DocumentId, NodeId
from overstory.nodes import NodeKind
from overstory.record import DocumentTree, VectorRow

LOST = "lost vector"


@dataclass(slots=True)
class Staying:
    """What of the record is there when vectors are restored: between cutting and summarizing."""

    gone: Collection[DocumentId] = ()
    cut: dict[DocumentId, frozenset[NodeId]] = field(default_factory=dict)
    """The leaves that are kept of each document that would be cut."""
    purged: set[DocumentId] = field(default_factory=set)
    """Documents with a new text: their summaries go before anything is built."""

    def holds(self, row: VectorRow) -> bool:
        """Whether a node that the record holds now is still there by then."""
        document = row.document_id
        if document is None:
            return True
        if row.kind is NodeKind.LEAF and document in self.cut:
            return row.node_id in self.cut[document]
        return document not in self.gone and document not in self.purged


@dataclass(frozen=True, slots=True)
class Restored:
    """Vectors that would be made of texts that the record holds."""

    cause: str
    nodes: int
    tokens: int
    summaries: bool = False
    """Whether a document's summary is among them."""


def plan_vectors(ctx: BuildContext, staying: Staying) -> Restored:
    """What lacks a vector of the embedder and is still there when a build restores vectors."""
    serving = ctx.record.vectors.serving(ctx.name)
    embedding = ctx.embedder.embedding_hash
    cause = LOST if serving in (None, embedding) else Cause.NEW_EMBEDDER
    if ctx.record.vectors.prepared(ctx.name, embedding):
        return _lacking(ctx, embedding, staying, cause)
    nodes = sum(staying.holds(row) for row in _all_nodes(ctx))
    return Restored(cause, nodes, round(nodes * _mean_tokens(ctx, serving)), summaries=nodes > 0)


def _lacking(ctx: BuildContext, embedding: str, staying: Staying, cause: str) -> Restored:
    nodes = tokens = 0
    summaries = False
    for row, text in ctx.record.vectors.without_vector(ctx.name, embedding):
        if staying.holds(row):
            nodes, tokens = nodes + 1, tokens + ctx.tokenizer.count(text)
            summaries = summaries or row.kind is NodeKind.DOCUMENT_SUMMARY
    return Restored(cause, nodes, tokens, summaries)


def _all_nodes(ctx: BuildContext) -> Iterator[VectorRow]:
    """Everything that ought to have a vector."""
    for tree in ctx.record.summaries.trees(ctx.name, with_leaves=True):
        yield from _nodes(tree)
    for level in ctx.record.clusters.levels(ctx.name):
        for cluster in ctx.record.clusters.trees(ctx.name, level):
            if cluster.stored and not cluster.stored.failure:
                yield VectorRow(cluster.stored.id, cluster.stored.kind, level, None)


def _nodes(tree: DocumentTree) -> Iterator[VectorRow]:
    for leaf in {leaf for leaf, _ in tree.leaves}:
        yield VectorRow(leaf, NodeKind.LEAF, 0, tree.document_id)
    for summary in tree.stored.values():
        if not summary.failure:
            yield VectorRow(summary.id, summary.kind, summary.kind.level, tree.document_id)


def _mean_tokens(ctx: BuildContext, serving: str | None) -> float:
    """Tokens of a text, on average of those that have a vector now."""
    nodes, tokens = ctx.record.vectors.stored(ctx.name, serving) if serving else (0, 0)
    return tokens / nodes if nodes else float(ctx.dataset.chunking.leaf_tokens)
