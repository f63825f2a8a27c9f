"""What a search serves: hits, their composition by level, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.nodes import NodeKind, NodeState


class MatchedVia(StrEnum):
    """Why a node is among the hits."""

    TEXT = "text"
    """Its own text matched."""
    SUMMARY = "summary"
    """Its chunk summary matched better than its own text."""
    PARENT = "parent"
    """A served summary brought it as its best child."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A served node with its source and its state."""

    node_id: NodeId
    kind: NodeKind
    level: int
    score: float
    """Fused, 0 to 1; comparable within one search only."""
    similarity: float | None
    """Cosine to the query, of the text or summary that matched; None if only words matched."""
    matched_via: MatchedVia
    text: str
    context: str
    """What a reader needs before a leaf's text, such as a table's header row; else empty."""
    tokens: int
    path: str
    """Of the document; empty for a cluster."""
    title: str
    headings: tuple[str, ...]
    start: int | None
    end: int | None
    """Character offsets into the document's normalized text: of a leaf, or of all that a summary is made from; None for
    a cluster."""
    document_id: DocumentId | None
    cluster_id: ClusterId | None
    children: tuple[NodeId, ...]
    """Ids of what a summary was made from, in order."""
    state: NodeState
    reason: str
    """Why the node is stale; empty when it is fresh."""

    @property
    def readable(self) -> str:
        """The text with its context."""
        return f"{self.context}{self.text}"


@dataclass(frozen=True, slots=True)
class Composition:
    """Served nodes by kind and by level."""

    kinds: Mapping[NodeKind, int]
    levels: Mapping[int, int]
    stale: int

    @property
    def leaves(self) -> int:
        """Nodes of source text."""
        return self.kinds.get(NodeKind.LEAF, 0)

    @property
    def summaries(self) -> int:
        """Nodes that somebody or something wrote about source text."""
        return sum(self.kinds.values()) - self.leaves


@dataclass(frozen=True, slots=True)
class Trace:
    """How a search came to its hits: counts and seconds, no text."""

    embedding_hash: str
    shortened: bool
    """Whether only the beginning of the query was asked."""
    candidates: Mapping[str, int]
    """Found by each ranking: ``semantic leaves``, ``semantic summaries``, ``text leaves``, ``text summaries``."""
    passed_through: int
    """Summaries left out since their only child stands for them."""
    brought: tuple[NodeId, ...]
    """Leaves that summaries brought along."""
    seconds: Mapping[str, float]
    """Time of each step: ``embed``, ``semantic``, ``text``, ``resolve``."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a query."""

    query: str
    hits: tuple[Hit, ...]
    composition: Composition
    trace: Trace = field(repr=False)


def compose(hits: tuple[Hit, ...]) -> Composition:
    """The composition of hits; levels from 0 up."""
    kinds = {kind: sum(hit.kind is kind for hit in hits) for kind in NodeKind}
    levels = {level: sum(hit.level == level for hit in hits) for level in sorted({hit.level for hit in hits})}
    return Composition(
        kinds={kind: count for kind, count in kinds.items() if count},
        levels=levels,
        stale=sum(hit.state is not NodeState.FRESH for hit in hits),
    )
