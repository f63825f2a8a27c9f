"""A plan: the build's own steps up to its first call, without a write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from overstory.building.cluster_plan import plan_clusters
from overstory.building.comparing import Scan, compare
from overstory.building.context import BuildContext
from overstory.building.document_plan import Outlook, plan_documents
from overstory.building.prospects import Seen, all_prospects
from overstory.building.summaries import BATCH_TARGETS
from overstory.building.vector_plan import Restored, plan_vectors
from overstory.planning import Plan
from overstory.record import ScannedDocument

LOCAL_TOKENS_PER_SECOND = 60_000
"""Tokens of source that extraction, cutting, embedding and extractive summaries get through on two cores
(benchmarks/full_build.py)."""


def plan(ctx: BuildContext) -> Plan:
    """What a build of the whole dataset would do now, and what it would cost."""
    scan = compare(ctx)
    outlook, seen = Outlook(), Seen()
    prospects = all_prospects(ctx, scan, seen)
    while batch := list(islice(prospects, BATCH_TARGETS)):
        plan_documents(ctx, batch, outlook)
        ctx.progress("plan", outlook.documents, max(outlook.documents, len(scan.paths)))
    outlook.changes.gone = outlook.staying.gone = frozenset(row.id for row in (*scan.gone, *scan.emptied))
    _restore(plan_vectors(ctx, outlook.staying), outlook)
    estimate, notes = plan_clusters(ctx, outlook.changes, outlook.asked)
    outlook.embedding_tokens += estimate.embedding_tokens
    calls = sum(action.price.calls for action in outlook.actions) + estimate.expected.calls
    call_seconds = ctx.dataset.prices.seconds_per_call / ctx.summarizer.concurrency if ctx.summarizer.paid else 0.0
    planned = Plan(
        dataset=ctx.name,
        documents=_documents(scan, seen.scanned),
        actions=tuple(outlook.actions),
        clusters=estimate,
        embeddings=dict(outlook.embeddings),
        embedding_tokens=outlook.embedding_tokens,
        embedding_usd=_embedding_usd(ctx, outlook.embedding_tokens),
        call_seconds=call_seconds,
        seconds=calls * call_seconds + outlook.local_tokens / LOCAL_TOKENS_PER_SECOND,
        paid=ctx.summarizer.paid,
        problems=_problems(scan, seen, outlook),
        notes=(*scan.notes, *notes),
        removed=outlook.removed,
    )
    return replace(
        planned,
        notes=(*planned.notes, *over_budget(planned.expected.usd + planned.embedding_usd, ctx.dataset.budget.usd)),
    )


def over_budget(expected_usd: float, budget_usd: float | None) -> tuple[str, ...]:
    """A note where one run's budget is not expected to be enough."""
    if budget_usd is None or expected_usd <= budget_usd:
        return ()
    return (
        f"The expected price of {expected_usd:.4g} USD is more than budget.usd, {budget_usd:.4g} per run: the build "
        "will stop before it is done; raise it, or build again to go on with a new budget",
    )


def _restore(restored: Restored, outlook: Outlook) -> None:
    """Count the texts that would be embedded as they stand."""
    if restored.nodes:
        outlook.embeddings[restored.cause] += restored.nodes
    outlook.embedding_tokens += restored.tokens
    outlook.local_tokens += restored.tokens
    outlook.changes.lost = restored.summaries


def _embedding_usd(ctx: BuildContext, tokens: int) -> float:
    if not ctx.embedder.paid:
        return 0.0
    return tokens * ctx.dataset.prices.usd_per_mtok_embedding / 1_000_000


def _documents(scan: Scan, scanned: Sequence[ScannedDocument]) -> dict[str, int]:
    """Documents by what would happen to them."""
    counts = Counter(unchanged=len(scan.unchanged), moved=len(scan.moves), deleted=len(scan.gone))
    for item in scanned:
        if item.row.failure:
            counts["failed"] += 1
        elif item.text is not None:
            edit = "reread" if item.reextracted else "edited"
            counts[edit if item.row.last_number else "new"] += 1
        elif item.row.id not in scan.moves:
            counts["unchanged"] += 1
    return {what: count for what, count in counts.items() if count}


def _problems(scan: Scan, seen: Seen, outlook: Outlook) -> tuple[str, ...]:
    rows = [*(item.row for item in seen.scanned), *scan.unchanged]
    unread = [f"{row.path}: {row.failure}" for row in rows if row.failure]
    return (*unread, *(problem.reason for problem in outlook.report.problems))
