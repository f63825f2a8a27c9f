"""What all assets share: their keys, how they open a dataset, and how they tell what they did.

The modules of the assets do without ``from __future__ import annotations``: Dagster compares the annotation of
``context`` itself, and a string is not its class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines import events, reporting
from pipelines.caller import caller
from pipelines.failures import told_in_one_line
from pipelines.partitions import shard_numbers, shards
from pipelines.progress import LoggedProgress
from pipelines.resources.deployment import Deployment

if TYPE_CHECKING:
    from overstory.building.context import BuildContext
    from overstory.building.report import StageReport

OWNER = "team:retrieval"

Result = dg.MaterializeResult[Any] | dg.AssetCheckResult


@dataclass(frozen=True, slots=True)
class Stage:
    """A dataset with its ports, and the shards that a step is to work on."""

    ctx: BuildContext
    shards: list[int]


def asset_options(dataset: str, name: str, *, after: str | None, kinds: set[str]) -> dict[str, Any]:
    """Arguments that all assets of a dataset have in common."""
    return {
        "name": name,
        "key_prefix": [dataset],
        "group_name": dataset,
        "deps": [dg.AssetKey([dataset, after])] if after else [],
        "kinds": kinds,
        "owners": [OWNER],
        "tags": {"overstory/dataset": dataset},
        "code_version": "1",
    }


def sharded(dataset: str, name: str) -> dict[str, Any]:
    """Arguments of an asset with one partition a shard, and the check that nothing in it failed."""
    key = dg.AssetKey([dataset, name])
    return {
        "partitions_def": shards,
        "backfill_policy": dg.BackfillPolicy.single_run(),
        "check_specs": [
            dg.AssetCheckSpec(
                events.CHECK,
                asset=key,
                partitions_def=shards,
                description="Everything in the shard could be made. Warns with the number of nodes that could not.",
            )
        ],
    }


@contextmanager
def opened(context: dg.AssetExecutionContext, deployment: Deployment, *, alone: bool = True) -> Iterator[Stage]:
    """The asset's dataset; its shards announced. Errors end the step with one line.

    Args:
        context: Of the asset.
        deployment: Opens the dataset.
        alone: Hold the dataset against other builds until the block ends.
    """
    keys = list(context.partition_keys) if context.has_assets_def and context.assets_def.partitions_def else []
    watching = caller()
    progress = watching.progress if watching else LoggedProgress(context.log.info)
    dataset = context.asset_key.path[0]
    with told_in_one_line(), deployment.building(dataset, context.run_id, progress, alone=alone) as ctx:
        events.announce(context, keys)
        yield Stage(ctx, shard_numbers(keys))


def finished(report: StageReport) -> StageReport:
    """The report, handed to whoever runs the job in this process."""
    if (watching := caller()) is not None:
        watching.reports.append(report)
    return report


def told(context: dg.AssetExecutionContext, report: StageReport, versions: Mapping[int, str]) -> Iterator[Result]:
    """The result of a sharded asset: first for the asset, then for each shard, whose last event counts."""
    results = reporting.shard_results(report, versions, versions)
    yield dg.MaterializeResult(
        metadata=reporting.stage_metadata(report), check_results=[events.check_result(context.asset_key, results)]
    )
    events.report_shards(context, results)
    events.report_overview(context, reporting.overview(report))
