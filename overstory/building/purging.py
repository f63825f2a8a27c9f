"""Purge: take a document out of every store at once, keep it out, and prove that what only it said is gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from overstory.building.context import BuildContext
from overstory.building.health import examine
from overstory.errors import SettingsError
from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.nodes import NodeState
from overstory.purges import PurgedDocument, place_of
from overstory.record import DocumentRow
from overstory.traces import Proof, Store, TextStores, Traces, prove, traces_of


@dataclass(frozen=True, slots=True)
class Gone:
    """What a purge has removed."""

    document_id: DocumentId
    leaves: int = 0
    summaries: int = 0
    """Of the document."""
    clusters: int = 0
    """Whose summaries went, to be made again from the other members."""
    traces: Traces = field(default_factory=lambda: Traces(frozenset(), frozenset()))
    """What only this document said, to be looked for; never written anywhere."""


def find(ctx: BuildContext, name: str) -> DocumentRow | PurgedDocument:
    """The document of a path or id, or what is remembered of one that was purged.

    Raises:
        SettingsError: The record knows neither.
    """
    row = next((row for row in ctx.record.documents.rows(ctx.name) if name in (row.path, row.id)), None)
    known = row or find_purged(ctx, name)
    if known is None:
        raise SettingsError(
            f"Dataset '{ctx.name}' has no document '{name}'", hint="Give its path within the source, or its id"
        )
    return known


def find_purged(ctx: BuildContext, name: str) -> PurgedDocument | None:
    """What is remembered of a purged document, by its path or one of its ids."""
    names = {name, place_of(ctx.name, name)}
    return next((p for p in ctx.record.purges.all(ctx.name) if {p.place, p.document_id} & names), None)


def purge(ctx: BuildContext, row: DocumentRow, texts: TextStores) -> Gone:
    """Remove a document with all that was made from it and all answers that saw it; the dataset must be held.

    One transaction: a process that is killed leaves the document whole or gone.

    Clusters above it lose their summaries at every level, since these may state what only this document said; so do
    clusters whose summary is stale, since it may be of a time when the document was a member.
    """
    traces = traces_of([*texts.texts_of(row.id), *_summaries_of(ctx, row)], texts.texts_of_others(row.id))
    clusters = _quoting(ctx, row.id)
    with ctx.record.transaction() as record:
        leaves, summaries = record.leaves.known([row.id]), record.summaries.purge([row.id])
        record.summaries.delete(clusters)
        emptied = record.documents.delete([row.id])
        record.vectors.delete(ctx.name, [*leaves, *summaries, *clusters, *emptied])
        record.purges.add(ctx.name, PurgedDocument(place_of(ctx.name, row.path), row.id))
    texts.settle()
    return Gone(row.id, len(leaves), len(summaries), len(clusters), traces)


def proof_of(gone: Gone, texts: TextStores, others: Iterable[Store] = ()) -> Proof:
    """Look for what only the document said in every place of the database and in others."""
    return prove(gone.traces, [*texts.stores(), *others])


def _summaries_of(ctx: BuildContext, row: DocumentRow) -> list[str]:
    """The texts of a document's summaries: a model words what it said in another way."""
    trees = ctx.record.summaries.trees(ctx.name, {row.shard})
    nodes = [node for tree in trees if tree.document_id == row.id for node in tree.stored]
    return list(ctx.record.summaries.texts(nodes).values())


def _quoting(ctx: BuildContext, document: DocumentId) -> list[NodeId]:
    """Summaries of clusters that may state what the document said."""
    unfresh = examine(ctx).unfresh
    above: set[str] = {document}
    found: list[NodeId] = []
    for level in ctx.record.clusters.levels(ctx.name):
        for tree in ctx.record.clusters.trees(ctx.name, level):
            over = any(member.member_id in above for member in tree.members)
            if over:
                above.add(ClusterId(tree.cluster_id))
            if tree.stored and (over or _stale(unfresh.get(tree.stored.id))):
                found.append(tree.stored.id)
    return found


def _stale(known: tuple[object, NodeState] | None) -> bool:
    return known is not None and known[1] is not NodeState.MISSING
