"""From the core's values to what the command line prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from overstory.building.health import Health
from overstory.building.report import StageReport
from overstory.cli.documents import (
    BuildDocument,
    ClusterPlan,
    DriftDocument,
    FactsDocument,
    FailureDocument,
    HitDocument,
    LevelDocument,
    NodeDocument,
    PlaceDocument,
    PlanDocument,
    PlannedKind,
    PlannedLevel,
    PriceDocument,
    ProblemDocument,
    RelativeDocument,
    SearchDocument,
    StageDocument,
    StatusDocument,
)
from overstory.planning import LevelEstimate, Plan, Price, total
from overstory.record import Spent
from overstory.retrieval.hits import Hit, SearchResult
from overstory.retrieval.view import NodeRef, NodeView

if TYPE_CHECKING:
    from overstory.clustering import Drift

FAILURES_LISTED = 100
"""Of an index's failures at most; how many there are is told besides."""


def build_document(dataset: str, run_id: str, reports: Sequence[StageReport], seconds: float) -> BuildDocument:
    """What a build did."""
    problems = tuple(
        ProblemDocument(stage=report.stage, subject=problem.subject, path=problem.path, reason=problem.reason)
        for report in reports
        for problem in report.problems
    )
    return BuildDocument(
        dataset=dataset,
        run_id=run_id,
        seconds=round(seconds, 3),
        partial=bool(problems),
        stages=tuple(_stage(report) for report in reports),
        problems=problems,
        notes=tuple(note for report in reports for note in report.notes),
    )


def _stage(report: StageReport) -> StageDocument:
    tally = report.total
    return StageDocument(
        stage=report.stage,
        written=tally.written,
        unchanged=tally.unchanged,
        deleted=tally.deleted,
        failed=tally.failed,
        remembered=tally.remembered,
        embedded=tally.embedded,
        calls=tally.calls,
        tokens_in=tally.tokens_in,
        tokens_out=tally.tokens_out,
        usd=round(tally.usd, 6),
        seconds=round(report.seconds, 3),
    )


def plan_document(plan: Plan) -> PlanDocument:
    """What a build would do."""
    groups: dict[tuple[str, str], list[Price]] = defaultdict(list)
    for action in plan.actions:
        groups[action.kind, action.cause].append(action.price)
    least, expected, most = plan.clusters.summaries
    return PlanDocument(
        dataset=plan.dataset,
        documents=plan.documents,
        exact=tuple(
            PlannedKind(
                kind=kind,
                cause=cause,
                summaries=len(prices),
                seconds=round(total(prices).calls * plan.call_seconds, 1),
                **_price(total(prices)).model_dump(),
            )
            for (kind, cause), prices in sorted(groups.items())
        ),
        clusters=ClusterPlan(
            levels=tuple(_planned_level(level, plan.call_seconds) for level in plan.clusters.levels),
            reshaped=plan.clusters.reshaped,
            removed=plan.clusters.removed,
            seconds_expected=round(plan.clusters.expected.calls * plan.call_seconds, 1),
            summaries_least=least,
            summaries_expected=expected,
            summaries_most=most,
            least=_price(plan.clusters.least),
            expected=_price(plan.clusters.expected),
            most=_price(plan.clusters.most),
        ),
        embeddings=plan.embeddings,
        embeddings_expected=plan.embeddings_expected,
        embedding_tokens=plan.embedding_tokens,
        embedding_usd=round(plan.embedding_usd, 6),
        removed=plan.removed,
        expected=_price(plan.expected),
        seconds=round(plan.seconds, 1),
        nothing_to_do=plan.nothing_to_do,
        problems=plan.problems,
        notes=plan.notes,
    )


def _planned_level(estimate: LevelEstimate, call_seconds: float) -> PlannedLevel:
    least, expected, most = estimate.summaries
    return PlannedLevel(
        level=estimate.level,
        cause=estimate.cause,
        summaries_least=least,
        summaries_expected=expected,
        summaries_most=most,
        seconds_expected=round(estimate.expected.calls * call_seconds, 1),
        least=_price(estimate.least),
        expected=_price(estimate.expected),
        most=_price(estimate.most),
    )


def _price(price: Price) -> PriceDocument:
    return PriceDocument(
        calls=price.calls, tokens_in=price.tokens_in, tokens_out=price.tokens_out, usd=round(price.usd, 6)
    )


def status_document(
    dataset: str,
    health: Health,
    spent: Spent,
    now: datetime | None = None,
    notes: Sequence[str] = (),
    drift: Drift | None = None,
) -> StatusDocument:
    """The state of an index, with what a person should know about it."""
    window = 0.0
    if health.stale_since is not None:
        window = ((now or datetime.now(UTC)) - health.stale_since).total_seconds()
    return StatusDocument(
        dataset=dataset,
        documents=health.documents,
        documents_failed=health.documents_failed,
        documents_pending=health.documents_pending,
        staleness_rate=round(health.staleness_rate, 6),
        staleness_window_seconds=round(window, 1),
        coverage=round(health.coverage, 6),
        levels=tuple(
            LevelDocument(
                kind=level.kind,
                level=level.level,
                fresh=level.fresh,
                stale=level.stale,
                missing=level.missing,
                failed=level.failed,
                orphaned=level.orphaned,
                staleness_rate=round(level.staleness_rate, 6),
            )
            for level in health.levels
        ),
        drift=_drift(drift) if drift else None,
        spent_usd=round(spent.usd, 6),
        calls=spent.calls,
        tokens_in=spent.tokens_in,
        tokens_out=spent.tokens_out,
        failures=tuple(
            FailureDocument(subject=failed.subject, path=failed.path, reason=failed.reason)
            for failed in health.failures[:FAILURES_LISTED]
        ),
        failures_total=len(health.failures),
        notes=tuple(notes),
    )


def _drift(drift: Drift) -> DriftDocument:
    return DriftDocument(
        misplaced=round(drift.misplaced, 6), turnover=round(drift.turnover, 6), recluster=drift.propose
    )


def search_document(dataset: str, result: SearchResult) -> SearchDocument:
    """What a search found."""
    composition = result.composition
    return SearchDocument(
        dataset=dataset,
        query=result.query,
        hits=tuple(_hit(rank, hit) for rank, hit in enumerate(result.hits, start=1)),
        levels={str(level): count for level, count in sorted(composition.levels.items())},
        kinds={str(kind): count for kind, count in sorted(composition.kinds.items())},
        stale=composition.stale,
    )


def _hit(rank: int, hit: Hit) -> HitDocument:
    return HitDocument(
        rank=rank,
        node_id=hit.node_id,
        kind=hit.kind,
        level=hit.level,
        score=round(hit.score, 6),
        similarity=None if hit.similarity is None else round(hit.similarity, 6),
        matched_via=hit.matched_via,
        path=hit.path,
        headings=hit.headings,
        start=hit.start,
        end=hit.end,
        document_id=hit.document_id,
        cluster_id=hit.cluster_id,
        state=hit.state,
        reason=hit.reason,
        text=hit.readable,
    )


def node_document(dataset: str, view: NodeView) -> NodeDocument:
    """A node and its relatives."""
    facts = view.facts
    return NodeDocument(
        dataset=dataset,
        node_id=view.node_id,
        kind=view.kind,
        level=view.level,
        state=view.state,
        reason=view.reason,
        path=view.path,
        headings=view.headings,
        start=view.start,
        end=view.end,
        tokens=view.tokens,
        text=view.text,
        context=view.context,
        content_hash=view.content_hash,
        child_hash=view.child_hash,
        recipe_hash=view.recipe_hash,
        facts=None
        if facts is None
        else FactsDocument(facts=facts.facts, kept=facts.kept, lost=facts.lost, unsupported=facts.unsupported),
        parents=tuple(_relative(node) for node in view.parents),
        children=tuple(_relative(node) for node in view.children),
        leaves=tuple(
            PlaceDocument(
                leaf_id=place.leaf_id,
                document_id=place.document_id,
                path=place.path,
                start=place.start,
                end=place.end,
            )
            for place in view.leaves
        ),
    )


def _relative(node: NodeRef) -> RelativeDocument:
    return RelativeDocument(node_id=node.node_id, kind=node.kind, label=node.label)
