"""Documents as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from overstory.cli.documents import (
    BuildDocument,
    DocumentStatusDocument,
    DriftDocument,
    ForgottenDocument,
    PlanDocument,
    PlannedLevel,
    PriceDocument,
    StatusDocument,
)
from overstory.cli.terminal import one_line

console = Console(highlight=False)

_PROBLEMS_SHOWN = 10
_WORDS = {"stage", "summaries", "cause", "level", "kind", "state", "node", "store"}
"""Columns of words; all others are numbers."""


def _table(*columns: str, title: str = "") -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        title_style="bold",
        padding=(0, 0),
        show_edge=False,
    )
    for column in columns:
        table.add_column(column, justify="left" if column in _WORDS else "right", no_wrap=True)
    return table


def show(*parts: RenderableType) -> None:
    """Print parts to standard output."""
    for part in parts:
        console.print(part)
        if isinstance(part, Table):
            console.print()


def money(usd: float) -> str:
    """Dollars with as many digits as they need."""
    return "free" if usd == 0 else f"${usd:,.4f}" if usd < 1 else f"${usd:,.2f}"


def short(number: int) -> str:
    """A large number in few characters: 950, 12.3k, 201M."""
    for factor, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= factor:
            scaled = number / factor
            return f"{scaled:,.0f}{letter}" if scaled >= 100 else f"{scaled:.3g}{letter}"
    return str(number)


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def words(name: str) -> str:
    """An identifier as words."""
    return name.replace("_", " ")


def build(document: BuildDocument) -> None:
    """What a build did, stage by stage, and what failed."""
    head = f"{document.dataset}: built in {duration(document.seconds)}"
    paid = any(stage.calls for stage in document.stages)
    costs = ("calls", "tokens", "cost") if paid else ()
    table = _table("stage", "written", "unchanged", "deleted", "failed", *costs, "time", title=head)
    for stage in document.stages:
        spent = (f"{stage.calls:,}", short(stage.tokens_in + stage.tokens_out), money(stage.usd)) if paid else ()
        table.add_row(
            words(stage.stage),
            *(f"{n:,}" for n in (stage.written, stage.unchanged, stage.deleted, stage.failed)),
            *spent,
            duration(stage.seconds),
        )
    show(table)
    problems([f"{words(problem.stage)}: {problem.reason}" for problem in document.problems], document.notes)


def problems(reasons: Sequence[str], notes: Sequence[str], *, total: int = 0) -> None:
    """What failed and what should be known, a line each; ``total`` where not all reasons are given."""
    for note in notes:
        console.print(f"[yellow]note[/] {escape(one_line(note))}", soft_wrap=True)
    for reason in reasons[:_PROBLEMS_SHOWN]:
        console.print(f"[red]failed[/] {escape(one_line(reason))}", soft_wrap=True)
    if (number := max(total, len(reasons))) > _PROBLEMS_SHOWN:
        console.print(f"… and {number - _PROBLEMS_SHOWN:,} more (--json lists them all)")


def plan(document: PlanDocument) -> None:
    """What a build would do and cost."""
    found = ", ".join(f"{count:,} {what}" for what, count in document.documents.items())
    if document.nothing_to_do:
        show(f"{document.dataset}: nothing to do ({found or 'no documents'})")
        problems(document.problems, document.notes)
        return
    table = _table("summaries", "cause", "number", "calls", "in", "out", "cost", "time", title=document.dataset)
    for part in document.exact:
        table.add_row(words(part.kind), part.cause, f"{part.summaries:,}", *_priced(part), _call_time(part.seconds))
    clusters = document.clusters
    for level in clusters.levels:
        table.add_row(
            f"cluster summary, level {level.level}",
            level.cause,
            _bounded(level),
            *_priced(level.expected),
            _call_time(level.seconds_expected),
        )
    table.add_section()
    table.add_row("all", "", "", *_priced(document.expected), "")
    show(f"documents: {found}", table)
    causes = [f"{count:,} {cause}" for cause, count in document.embeddings.items()]
    if clusters.summaries_expected:
        causes.append(f"about {clusters.summaries_expected:,} of clusters")
    embedded = ", ".join(causes) or "none"
    show(f"embeddings: {embedded} ({document.embedding_tokens:,} tokens, {money(document.embedding_usd)})")
    if removed := document.removed + clusters.removed:
        show(f"summaries and clusters to be removed: {removed:,}")
    show(f"time: about {duration(document.seconds)}")
    if clusters.most.usd > clusters.expected.usd:
        upper = document.expected.usd - clusters.expected.usd + clusters.most.usd
        show(f"at most: {money(upper)}; up to document summaries the plan is exact")
    problems(document.problems, document.notes)


def _bounded(level: PlannedLevel) -> str:
    """The expected number, and the bounds where it is not certain."""
    if level.summaries_least == level.summaries_most:
        return f"{level.summaries_expected:,}"
    return f"{level.summaries_expected:,} ({level.summaries_least:,}–{level.summaries_most:,})"


def _priced(price: PriceDocument) -> tuple[str, str, str, str]:
    return f"{price.calls:,}", short(price.tokens_in), short(price.tokens_out), money(price.usd)


def _call_time(seconds: float) -> str:
    return duration(seconds) if seconds else ""


def forgotten(document: ForgottenDocument, source: str) -> None:
    """What was removed, and what was not."""
    counts = f"{document.documents:,} documents, {document.leaves:,} leaves, {document.summaries:,} summaries"
    console.print(
        f"{document.dataset}: removed ({counts}). Its files stay in {escape(one_line(source))}", soft_wrap=True
    )


def status(document: StatusDocument) -> None:
    """Node states by level, and what has been spent."""
    if not document.documents:
        show(f"{document.dataset}: no documents have been built yet. Run: overstory build")
        problems([failure.reason for failure in document.failures], document.notes, total=document.failures_total)
        return
    head = f"{document.dataset}: {document.documents:,} documents"
    table = _table("level", "kind", "fresh", "stale", "missing", "failed", "orphaned", "staleness", title=head)
    for level in document.levels:
        table.add_row(
            str(level.level),
            words(level.kind),
            *(f"{n:,}" for n in (level.fresh, level.stale, level.missing, level.failed, level.orphaned)),
            f"{level.staleness_rate:.1%}",
        )
    show(table)
    window = duration(document.staleness_window_seconds) if document.staleness_window_seconds else "none"
    if window == "none" and document.staleness_rate:
        window = "not known before the next build"
    show(
        f"staleness rate {document.staleness_rate:.1%}   staleness window {window}   coverage {document.coverage:.1%}",
        f"spent so far: {document.calls:,} calls, {document.tokens_in:,} tokens in, "
        f"{document.tokens_out:,} out, {money(document.spent_usd)}",
    )
    if document.documents_pending or document.documents_failed:
        show(f"documents: {document.documents_pending:,} pending, {document.documents_failed:,} failed")
    if document.drift:
        show(drift(document.drift))
    problems((), document.notes)


def drift(document: DriftDocument) -> str:
    """How far the clusters have drifted, in one line."""
    told = (
        f"drift since the clusters were fitted: misplaced {document.misplaced:.1%}   turnover {document.turnover:.1%}"
    )
    return f"{told}: re-clustering is worth proposing" if document.recluster else told


def document_status(document: DocumentStatusDocument, *, served: bool) -> None:
    """One document: where it is, the state of its nodes, and the run that last touched it.

    Args:
        document: What to show.
        served: Whether the Dagster UI is there to show the run.
    """
    show(
        f"[bold]{escape(one_line(document.path))}[/]",
        f"document {document.document_id}   shard {document.shard}   {document.leaves:,} leaves",
    )
    if document.failure:
        show(f"[red]failed[/] {escape(one_line(document.failure))}")
    table = _table("level", "kind", "state", "cause", "node")
    for node in document.nodes:
        table.add_row(str(node.level), words(node.kind), node.state, node.cause or "", node.node_id)
    show(table)
    if document.last_run_id:
        show(f"last run {document.last_run_id}: {document.last_run_status}")
        where = f"in the Dagster UI: {document.last_run_url}"
        show(where if served else f"{where} (start it with 'overstory dev')")
    else:
        show("no run of this shard is known to Dagster")
