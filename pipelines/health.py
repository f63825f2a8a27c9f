"""The state of an index as metadata, checks and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg

from overstory.nodes import NodeKind
from pipelines import plots
from pipelines.reporting import markdown_table

if TYPE_CHECKING:
    from overstory.building.context import BuildContext
    from overstory.building.health import Health
    from overstory.clustering import Drift
    from overstory.record import LevelHealth

FRESH = "fresh"
COVERED = "covered"


def check_specs(asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Checks that stand at ``index_health``; both warn, since a stale index still serves."""
    return [
        dg.AssetCheckSpec(FRESH, asset=asset, description="No node is stale or missing."),
        dg.AssetCheckSpec(COVERED, asset=asset, description="Every document has a fresh summary."),
    ]


def check_results(asset: dg.AssetKey, health: Health, now: datetime | None = None) -> list[dg.AssetCheckResult]:
    """Whether the index is fresh, and covers its documents."""
    behind = {
        "staleness rate": round(health.staleness_rate, 4),
        "staleness window, seconds": round(window_seconds(health, now)),
    }
    covered = {"coverage": round(health.coverage, 4), "documents": health.documents, "failed": health.documents_failed}
    warn = dg.AssetCheckSeverity.WARN
    fresh = health.staleness_rate == 0 and health.documents_pending == 0
    return [
        dg.AssetCheckResult(asset_key=asset, check_name=FRESH, passed=fresh, severity=warn, metadata=behind),
        dg.AssetCheckResult(
            asset_key=asset, check_name=COVERED, passed=health.coverage == 1, severity=warn, metadata=covered
        ),
    ]


def window_seconds(health: Health, now: datetime | None = None) -> float:
    """Age in seconds of the oldest stale or missing node; 0 when there is none."""
    if health.stale_since is None:
        return 0.0
    return max(0.0, ((now or datetime.now(UTC)) - health.stale_since).total_seconds())


def metadata(health: Health, drift: Drift | None = None) -> dict[str, dg.MetadataValue]:
    """Rates as numbers, so that the UI plots them over time; states as a table and a picture."""
    shown: dict[str, dg.MetadataValue] = {
        "staleness rate": dg.MetadataValue.float(round(health.staleness_rate, 4)),
        "coverage": dg.MetadataValue.float(round(health.coverage, 4)),
        "staleness window, seconds": dg.MetadataValue.int(round(window_seconds(health))),
        "documents": dg.MetadataValue.int(health.documents),
        "documents failed": dg.MetadataValue.int(health.documents_failed),
        "documents pending": dg.MetadataValue.int(health.documents_pending),
        "nodes": dg.MetadataValue.int(sum(level.total for level in health.levels)),
        "states": markdown_table(
            ("nodes", "level", "fresh", "stale", "missing", "failed", "orphaned"),
            [(_name(level), str(level.level), *(f"{n:,}" for n in states(level).values())) for level in health.levels],
        ),
    }
    if health.levels:
        shown["picture"] = plots.stacked_bars({_name(level): states(level) for level in health.levels})
    return {**shown, **(drifted(drift) if drift else {})}


def drifted(drift: Drift) -> dict[str, dg.MetadataValue]:
    """How far the clusters have drifted since they were fitted, and whether that calls for new ones."""
    return {
        "misplaced": dg.MetadataValue.float(round(drift.misplaced, 4)),
        "turnover": dg.MetadataValue.float(round(drift.turnover, 4)),
        "re-clustering is worth proposing": dg.MetadataValue.bool(drift.propose),
    }


def states(level: LevelHealth) -> Mapping[str, int]:
    """Nodes of a level by state."""
    return {
        "fresh": level.fresh,
        "stale": level.stale,
        "missing": level.missing,
        "failed": level.failed,
        "orphaned": level.orphaned,
    }


def _name(level: LevelHealth) -> str:
    return level.kind.value.replace("_", " ")


def facts_kept(ctx: BuildContext, kind: NodeKind, shards: list[int]) -> dict[str, dg.MetadataValue]:
    """The share of their sources' facts that summaries of a kind keep, with a picture.

    A source without facts has no share and stands in no average.
    """
    found = ctx.record.summaries.facts_kept(ctx.name, kind, shards)
    shares = [100 * kept / facts for facts, kept in found if facts]
    shown: dict[str, dg.MetadataValue] = {"summaries without facts": dg.MetadataValue.int(len(found) - len(shares))}
    if shares:
        shown["facts kept, average %"] = dg.MetadataValue.float(round(sum(shares) / len(shares), 1))
        bins = [5.0 * step for step in range(21)]
        shown["facts kept"] = plots.histogram(shares, "% of a source's facts that its summary keeps", "sources", bins)
    return shown


def leaf_sizes(ctx: BuildContext, shards: list[int]) -> dict[str, dg.MetadataValue]:
    """How many tokens the leaves have, with a picture."""
    found = ctx.record.leaves.sizes(ctx.name, shards)
    number = sum(found.values())
    if not number:
        return {}
    tokens = sum(size * count for size, count in found.items())
    shown: dict[str, dg.MetadataValue] = {
        "tokens of leaves": dg.MetadataValue.int(tokens),
        "tokens of a leaf, average": dg.MetadataValue.float(round(tokens / number, 1)),
    }
    sizes = [size for size, count in sorted(found.items()) for _ in range(count)]
    return {**shown, "leaf sizes": plots.histogram(sizes, "tokens of a leaf", "leaves")}


def cluster_sizes(ctx: BuildContext) -> dict[str, dg.MetadataValue]:
    """How many members the clusters have, with a picture."""
    sizes = [
        len(tree.members)
        for level in ctx.record.clusters.levels(ctx.name)
        for tree in ctx.record.clusters.trees(ctx.name, level)
    ]
    if not sizes:
        return {"clusters": dg.MetadataValue.int(0)}
    return {
        "clusters": dg.MetadataValue.int(len(sizes)),
        "members on average": dg.MetadataValue.float(round(sum(sizes) / len(sizes), 1)),
        "cluster sizes": plots.histogram(sizes, "members of a cluster", "clusters"),
    }
