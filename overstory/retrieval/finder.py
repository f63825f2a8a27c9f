"""From two rankings to hits: fuse each level, fill the quota, bring children, read texts and states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overstory.identity import NodeId
from overstory.nodes import NodeKind, NodeState
from overstory.retrieval.fusion import Ranking, fuse
from overstory.retrieval.hits import Hit, MatchedVia
from overstory.retrieval.ports import Candidate, Candidates, LeafRow, SearchStore, SummaryText
from overstory.retrieval.quota import Quota, choose
from overstory.retrieval.resolve import Entry, leaf_entries, misplaced, summary_entries
from overstory.retrieval.states import Judged, judge_clusters, judge_documents, leaf_verdict, reason
from overstory.tree import Recipes

if TYPE_CHECKING:
    from overstory.ports import Vectors

Resolve = Callable[[Sequence[Candidate]], list[Entry]]


@dataclass(frozen=True, slots=True)
class Pool:
    """The entries of one level, fused."""

    entries: Mapping[NodeId, Entry]
    scores: Mapping[NodeId, float]
    """Best first."""
    similarities: Mapping[NodeId, float]

    @property
    def ranked(self) -> list[NodeId]:
        """Ids, best first."""
        return list(self.scores)


def pool(near: Sequence[Candidate], worded: Sequence[Candidate], weight: float, resolve: Resolve) -> Pool:
    """Candidates by meaning, which count ``weight``, and by words as one ranking of what they stand for."""
    by_meaning, by_words = resolve(near), resolve(worded)
    rankings = [Ranking([e.node_id for e in by_meaning], weight), Ranking([e.node_id for e in by_words])]
    return Pool(
        entries={entry.node_id: entry for entry in (*by_words, *by_meaning)},
        scores=fuse(rankings),
        similarities={entry.node_id: entry.candidate.score for entry in by_meaning},
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search is after: the dataset, the query's vector, and how nodes are to be judged."""

    dataset: str
    embedding_hash: str
    vector: Vectors
    """Of shape (dimension,); all zero when the query has no known word."""
    semantic_weight: float
    recipes: Recipes
    chunk_recipe: str


@dataclass(frozen=True, slots=True)
class Finder:
    """Serves one query from one snapshot of the store."""

    store: SearchStore
    wanted: Wanted
    quota: Quota

    def find(self, near: Candidates, worded: Candidates) -> tuple[tuple[Hit, ...], tuple[NodeId, ...]]:
        """(hits, best first; ids of the leaves that summaries brought along)."""
        weight = self.wanted.semantic_weight
        proxied = misplaced((*near.leaves, *worded.leaves))
        listed = self.store.leaves_of(self.wanted.dataset, proxied) if proxied else {}
        leaves = pool(near.leaves, worded.leaves, weight, lambda found: leaf_entries(found, listed))
        summaries = pool(near.summaries, worded.summaries, weight, summary_entries)
        served = self._usable(summaries)
        slots = self.quota.leaf_slots(len(served))
        brought = self._brought(list(served), leaves) if slots else {}
        chosen = choose(leaves.ranked, list(brought), slots)
        hits = [*self._leaf_hits(chosen, slots, leaves, brought), *self._summary_hits(served, summaries)]
        hits.sort(key=lambda hit: (-hit.score, hit.level, hit.node_id))
        return tuple(hits), tuple(node for node in brought if node in chosen)

    def _usable(self, summaries: Pool) -> dict[NodeId, tuple[SummaryText, Judged]]:
        """The first summaries that still summarize something, one a document, as many as there are slots.

        A section and its document, or two sections, would say the same again.
        """
        served: dict[NodeId, tuple[SummaryText, Judged]] = {}
        rest = _one_a_document(summaries)
        while rest and (free := self.quota.summaries - len(served)) > 0:
            batch, rest = rest[:free], rest[free:]
            rows = self.store.summary_rows(self.wanted.dataset, batch)
            judged = self._judged(rows)
            served |= {node: (rows[node], judged[node]) for node in batch if node in rows and node in judged}
        return served

    def _judged(self, rows: Mapping[NodeId, SummaryText]) -> dict[NodeId, Judged]:
        dataset, recipes = self.wanted.dataset, self.wanted.recipes
        documents = {row.document_id for row in rows.values() if row.document_id}
        clusters = {row.cluster_id for row in rows.values() if row.cluster_id}
        judged: dict[NodeId, Judged] = {}
        if documents:
            changed = self.store.changed(dataset, documents, self.wanted.chunk_recipe)
            judged |= judge_documents(self.store.document_trees(dataset, documents), recipes, changed)
        if clusters:
            judged |= judge_clusters(self.store.cluster_trees(dataset, clusters), recipes)
        return judged

    def _brought(self, served: Sequence[NodeId], leaves: Pool) -> dict[NodeId, Candidate]:
        """The best leaf beneath each served summary: of those that were found, else the nearest."""
        if not served:
            return {}
        scopes = self.store.scopes(self.wanted.dataset, served)
        brought: dict[NodeId, Candidate] = {}
        for scope in (scopes[node] for node in served if node in scopes):
            found = (leaves.entries[leaf].candidate for leaf in leaves.scores)
            best = next((candidate for candidate in found if scope.holds(candidate)), None)
            if best is None and self.wanted.vector.any():
                w = self.wanted
                best = self.store.nearest_leaf(w.dataset, w.embedding_hash, w.vector, scope)
            if best is not None:
                brought.setdefault(best.node_id, best)
        return brought

    def _leaf_hits(
        self, chosen: Sequence[NodeId], slots: int, leaves: Pool, brought: Mapping[NodeId, Candidate]
    ) -> list[Hit]:
        rows = self.store.leaf_rows(self.wanted.dataset, chosen)
        documents = {row.document_id for row in rows.values()}
        changed = self.store.changed(self.wanted.dataset, documents, self.wanted.chunk_recipe) if rows else frozenset()
        own = set(leaves.ranked[:slots])
        hits = []
        for node in (node for node in chosen if node in rows):
            via = _via(leaves.entries[node]) if node in own else MatchedVia.PARENT
            similarity = leaves.similarities.get(node)
            if similarity is None and node not in leaves.entries:
                similarity = brought[node].score
            stale = reason(leaf_verdict(rows[node].document_id, changed))
            hits.append(_leaf_hit(rows[node], leaves.scores.get(node, 0.0), similarity, via, stale))
        return hits

    def _summary_hits(self, served: Mapping[NodeId, tuple[SummaryText, Judged]], summaries: Pool) -> list[Hit]:
        return [
            _summary_hit(row, judged, summaries.scores[node], summaries.similarities.get(node))
            for node, (row, judged) in served.items()
        ]


def _one_a_document(summaries: Pool) -> list[NodeId]:
    best: dict[str, NodeId] = {}
    for node in summaries.scores:
        best.setdefault(summaries.entries[node].candidate.document_id or node, node)
    return list(best.values())


def _via(entry: Entry) -> MatchedVia:
    return MatchedVia.SUMMARY if entry.via_summary else MatchedVia.TEXT


def _leaf_hit(row: LeafRow, score: float, similarity: float | None, via: MatchedVia, stale: str) -> Hit:
    return Hit(
        node_id=row.id,
        kind=NodeKind.LEAF,
        level=NodeKind.LEAF.level,
        score=score,
        similarity=similarity,
        matched_via=via,
        text=row.text,
        context=row.context,
        tokens=row.tokens,
        path=row.path,
        title=row.title,
        headings=row.headings,
        start=row.start,
        end=row.end,
        document_id=row.document_id,
        cluster_id=None,
        children=(),
        state=NodeState.STALE if stale else NodeState.FRESH,
        reason=stale,
    )


def _summary_hit(row: SummaryText, judged: Judged, score: float, similarity: float | None) -> Hit:
    return Hit(
        node_id=row.stored.id,
        kind=row.stored.kind,
        level=row.level,
        score=score,
        similarity=similarity,
        matched_via=MatchedVia.TEXT,
        text=row.text,
        context="",
        tokens=row.tokens,
        path=row.path,
        title=row.title,
        headings=(row.heading,) if row.heading else (),
        start=row.start,
        end=row.end,
        document_id=row.document_id,
        cluster_id=row.cluster_id,
        children=judged.children,
        state=judged.verdict.state,
        reason=reason(judged.verdict),
    )
