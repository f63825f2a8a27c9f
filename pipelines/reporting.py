"""What a stage did, as metadata: ids, kinds and counts only, since Dagster keeps it for ever, whatever is purged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg

from overstory.building.report import Problem, StageReport, Tally
from overstory.building.shard_states import ShardState
from overstory.identity import shard_key
from pipelines.events import ShardResult

CLUSTERS = "cluster_summaries"
LISTED_OWNERS = 10
"""Ids of documents or clusters at each shard of each build; the count has them all."""
LISTED = 50
"""Failures that a table names; the count has them all."""


def shard_results(report: StageReport, states: Mapping[int, ShardState]) -> list[ShardResult]:
    """What became of each shard, in order."""
    return [_shard_result(shard, report, state) for shard, state in sorted(states.items())]


def _shard_result(shard: int, report: StageReport, state: ShardState) -> ShardResult:
    tally = report.shards.get(shard, Tally())
    metadata = {
        "status": dg.MetadataValue.text(_status(tally)),
        **counts(tally),
        "nodes": dg.MetadataValue.int(state.nodes),
        "staleness rate": dg.MetadataValue.float(round(state.staleness, 4)),
        "seconds": dg.MetadataValue.float(round(report.seconds, 3)),
        **owners(report.stage, state),
    }
    return ShardResult(
        shard_key(shard), state.version, metadata, tally.written + tally.unchanged + tally.failed, tally.failed
    )


def owners(stage: str, state: ShardState) -> dict[str, dg.MetadataValue]:
    """Whose nodes they are: the number, and the first ids, to be asked for by ``overstory status`` or ``show``."""
    what = "clusters" if stage == CLUSTERS else "documents"
    shown: dict[str, dg.MetadataValue] = {what: dg.MetadataValue.int(len(state.owners))}
    if not state.owners:
        return shown
    lines = [f"- `{owner}`" for owner in state.owners[:LISTED_OWNERS]]
    if more := len(state.owners) - len(lines):
        lines.append(f"- and {more:,} more")
    command = "overstory show" if stage == CLUSTERS else "overstory status"
    return {**shown, "ids": dg.MetadataValue.md("\n".join([*lines, "", f"`{command} ID` tells more"]))}


def sizes(states: Mapping[int, ShardState]) -> dict[str, dg.MetadataValue]:
    """Nodes of all shards of the run, and how many are behind."""
    nodes = sum(state.nodes for state in states.values())
    behind = sum(state.behind for state in states.values())
    return {
        "nodes": dg.MetadataValue.int(nodes),
        "staleness rate": dg.MetadataValue.float(round(behind / nodes if nodes else 0.0, 4)),
    }


def counts(tally: Tally, *, every: bool = False) -> dict[str, dg.MetadataValue]:
    """The counts of a tally; the rarer ones and those of calls only where there were any, or ``every`` one is asked."""
    numbers = {
        "nodes written": tally.written,
        "nodes unchanged": tally.unchanged,
        "nodes deleted": tally.deleted,
        "nodes failed": tally.failed,
    }
    rarer = {"answers remembered": tally.remembered, "texts embedded": tally.embedded}
    numbers |= {name: number for name, number in rarer.items() if number or every}
    metadata: dict[str, dg.MetadataValue] = {name: dg.MetadataValue.int(number) for name, number in numbers.items()}
    if tally.calls or every:
        metadata |= {
            "calls": dg.MetadataValue.int(tally.calls),
            "tokens in": dg.MetadataValue.int(tally.tokens_in),
            "tokens out": dg.MetadataValue.int(tally.tokens_out),
            "USD": dg.MetadataValue.float(round(tally.usd, 6)),
            "seconds of calls": dg.MetadataValue.float(round(tally.call_seconds, 3)),
        }
    return metadata


def stage_metadata(report: StageReport) -> dict[str, dg.MetadataValue]:
    """What the whole stage did: short, since it stands at every partition of the run."""
    return {
        "status": dg.MetadataValue.text(_status(report.total)),
        "seconds": dg.MetadataValue.float(round(report.seconds, 3)),
    }


def _status(tally: Tally) -> str:
    return "partial" if tally.failed else "complete"


def overview(report: StageReport, more: Mapping[str, dg.MetadataValue] | None = None) -> dict[str, dg.MetadataValue]:
    """What the whole stage did, for people to look at: totals, failures by kind, and the shards that were touched."""
    # Zeros too: a plot over time would draw a build without calls as none at all.
    metadata = {**stage_metadata(report), **counts(report.total, every=True), **(more or {})}
    if report.problems:
        metadata["failures by kind"] = failures_by_kind(report.problems)
        metadata["failures"] = failure_table(report.problems)
    if touched := touched_shards(report):
        metadata["shards"] = touched
    if report.notes:
        metadata["notes"] = dg.MetadataValue.md("\n".join(f"- {note}" for note in report.notes))
    return metadata


def failures_by_kind(problems: Iterable[Problem]) -> dg.MetadataValue:
    """How many failures there are of each kind."""
    found = Counter(problem.kind for problem in problems)
    return markdown_table(("kind of failure", "number"), [(kind, f"{n:,}") for kind, n in found.most_common()])


def failure_table(problems: Sequence[Problem]) -> dg.MetadataValue:
    """Ids and kinds of the first failures."""
    rows = [(f"`{problem.subject}`", problem.kind) for problem in problems[:LISTED]]
    if more := len(problems) - len(rows):
        rows.append((f"and {more:,} more", "see `overstory status`"))
    return markdown_table(("id", "kind of failure"), rows, numbers=False)


def touched_shards(report: StageReport) -> dg.MetadataValue | None:
    """The shards in which something was written, deleted or failed; None where there are none."""
    rows = [
        (shard_key(shard), *(f"{number:,}" for number in (t.written, t.unchanged, t.deleted, t.failed)))
        for shard, t in sorted(report.shards.items())
        if t.written or t.deleted or t.failed
    ]
    return markdown_table(("shard", "written", "unchanged", "deleted", "failed"), rows) if rows else None


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> dg.MetadataValue:
    """A table that the UI shows in full; ``numbers`` stand to the right in all columns but the first."""
    side = "---:" if numbers else ":---"
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join([":---", *[side] * (len(header) - 1)]) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return dg.MetadataValue.md("\n".join(lines))
