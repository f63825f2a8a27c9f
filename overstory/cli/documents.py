"""What ``--json`` prints: one model for each command, with a schema under docs/schemas."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """Base of every document; ``schema_version`` comes first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PriceDocument(_Part):
    """Calls, tokens and dollars."""

    calls: int
    tokens_in: int
    tokens_out: int
    usd: float


class StageDocument(PriceDocument):
    """What one stage of a build did."""

    stage: str
    written: int
    unchanged: int
    deleted: int
    failed: int
    remembered: int
    embedded: int
    seconds: float


class ProblemDocument(_Part):
    """Something that could not be made."""

    stage: str
    subject: str
    path: str = ""
    """Of the document, where there is one."""
    reason: str


class BuildDocument(Document):
    """``overstory build --json``."""

    dataset: str
    run_id: str
    seconds: float
    partial: bool
    stages: tuple[StageDocument, ...]
    problems: tuple[ProblemDocument, ...]
    notes: tuple[str, ...]


class PlannedKind(PriceDocument):
    """The summaries of one kind that a build would write for one cause."""

    kind: str
    cause: str
    summaries: int
    seconds: float


class PlannedLevel(_Part):
    """Bounds of the cluster summaries of one level that a build would write for one cause."""

    level: int
    cause: str
    summaries_least: int
    summaries_expected: int
    summaries_most: int
    seconds_expected: float
    least: PriceDocument
    expected: PriceDocument
    most: PriceDocument


class ClusterPlan(_Part):
    """Bounds of the cluster levels, which depend on texts that are not written yet."""

    levels: tuple[PlannedLevel, ...]
    reshaped: int
    removed: int
    seconds_expected: float
    summaries_least: int
    summaries_expected: int
    summaries_most: int
    least: PriceDocument
    expected: PriceDocument
    most: PriceDocument


class PlanDocument(Document):
    """``overstory plan --json``."""

    dataset: str
    documents: dict[str, int]
    exact: tuple[PlannedKind, ...]
    clusters: ClusterPlan
    embeddings: dict[str, int]
    embeddings_expected: int
    embedding_tokens: int
    embedding_usd: float
    removed: int
    expected: PriceDocument
    seconds: float
    nothing_to_do: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...]


class ForgottenDocument(Document):
    """``overstory forget --json``."""

    dataset: str
    documents: int
    leaves: int
    summaries: int


class LevelDocument(_Part):
    """Node states of one kind and level."""

    kind: str
    level: int
    fresh: int
    stale: int
    missing: int
    failed: int
    orphaned: int
    staleness_rate: float


class FailureDocument(_Part):
    """A document or summary that could not be made."""

    subject: str
    path: str
    reason: str


class DriftDocument(_Part):
    """How far the clusters of documents have drifted since they were fitted."""

    misplaced: float
    """Share of documents, 0 to 1, whose nearest cluster is none of theirs."""
    turnover: float
    """Documents added and deleted since the fit, per fitted document."""
    recluster: bool
    """Whether a re-clustering is worth proposing."""


class StatusDocument(Document):
    """``overstory status --json``."""

    dataset: str
    documents: int
    documents_failed: int
    documents_pending: int
    staleness_rate: float
    staleness_window_seconds: float
    coverage: float
    levels: tuple[LevelDocument, ...]
    drift: DriftDocument | None = None
    """None where there are no clusters."""
    spent_usd: float
    calls: int
    tokens_in: int
    tokens_out: int
    failures: tuple[FailureDocument, ...] = ()
    failures_total: int = 0
    notes: tuple[str, ...]


class NodeStateDocument(_Part):
    """The state of one of a document's nodes."""

    node_id: str
    kind: str
    level: int
    state: str
    cause: str | None


class DocumentStatusDocument(Document):
    """``overstory status DOC --json``."""

    dataset: str
    document_id: str
    path: str
    shard: str
    failure: str | None
    leaves: int
    nodes: tuple[NodeStateDocument, ...]
    last_run_id: str | None
    last_run_status: str | None
    last_run_url: str | None


class HitDocument(_Part):
    """One hit of a search."""

    rank: int
    node_id: str
    kind: str
    level: int
    score: float
    similarity: float | None
    matched_via: str
    path: str
    headings: tuple[str, ...]
    start: int | None
    end: int | None
    document_id: str | None
    cluster_id: str | None
    state: str
    reason: str
    text: str


class SearchDocument(Document):
    """``overstory search --json``."""

    dataset: str
    query: str
    hits: tuple[HitDocument, ...]
    levels: dict[str, int]
    kinds: dict[str, int]
    stale: int


class RelativeDocument(_Part):
    """A parent or child of a node."""

    node_id: str
    kind: str
    label: str


class PlaceDocument(_Part):
    """Characters of a document's normalized text."""

    leaf_id: str
    document_id: str
    path: str
    start: int
    end: int


class FactsDocument(_Part):
    """What a summary kept of its children's facts."""

    facts: int
    kept: int
    lost: tuple[str, ...]
    unsupported: tuple[str, ...]


class NodeDocument(Document):
    """``overstory show --json``."""

    dataset: str
    node_id: str
    kind: str
    level: int
    state: str
    reason: str
    path: str
    headings: tuple[str, ...]
    start: int | None
    end: int | None
    tokens: int
    text: str
    context: str
    content_hash: str
    child_hash: str
    recipe_hash: str
    facts: FactsDocument | None
    parents: tuple[RelativeDocument, ...]
    children: tuple[RelativeDocument, ...]
    leaves: tuple[PlaceDocument, ...]
