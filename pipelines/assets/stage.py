"""What all assets share: their keys, how they open a dataset, and how they tell what they did.

The modules of the assets do without ``from __future__ import annotations``: Dagster compares the annotation of
``context`` itself, and a string is not its class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

from pipelines import events, reporting
from pipelines.caller import caller
from pipelines.failures import told_in_one_line
from pipelines.jobs import ALL_SHARDS, CAUSE_TAG, DATASET_TAG, PROCESS_TAG
from pipelines.partitions import shard_numbers, shards
from pipelines.progress import LoggedProgress
from pipelines.resources.deployment import Deployment

if TYPE_CHECKING:
    from overstory.building.context import BuildContext
    from overstory.building.report import StageReport
    from overstory.building.shard_states import ShardState

OWNER = "team:retrieval"

MARKS = {"extractive": "python", "openai": "openai"}
"""By kind of summarizer: the mark of summaries in the UI."""

Result = dg.MaterializeResult[Any] | dg.AssetCheckResult
Body = Callable[[dg.AssetExecutionContext, Deployment], Iterator[Result]]


@dataclass(frozen=True, slots=True)
class Stage:
    """A dataset with its ports, and the shards that a step is to work on."""

    ctx: BuildContext
    shards: list[int]


def level(
    dataset: str,
    *,
    after: Sequence[str],
    kinds: set[str],
    description: str,
    sharded: bool = False,
    checks: Callable[[dg.AssetKey], list[dg.AssetCheckSpec]] | None = None,
) -> Callable[[Body], dg.AssetsDefinition]:
    """Makes an asset of a function; its name is the function's.

    Args:
        dataset: The first part of its key, and its group.
        after: The levels that it is made from.
        kinds: Marks in the UI, three at most.
        description: What one partition is, and what makes it stale.
        sharded: Whether it has one partition a shard, and the check that nothing in it failed.
        checks: Of an asset that is not sharded.
    """

    def decorate(body: Body) -> dg.AssetsDefinition:
        name = body.__name__
        key = dg.AssetKey([dataset, name])
        return dg.asset(
            name=name,
            key_prefix=[dataset],
            group_name=dataset,
            deps=[dg.AssetKey([dataset, former]) for former in after],
            description=description,
            kinds=kinds,
            owners=[OWNER],
            tags={"overstory/dataset": dataset},
            code_version="1",
            partitions_def=shards if sharded else None,
            # On all assets, also those without partitions: with a mixture the UI would not offer a single run.
            backfill_policy=dg.BackfillPolicy.single_run(),
            check_specs=[events.check_spec(key)] if sharded else checks(key) if checks else None,
        )(body)

    return decorate


@contextmanager
def opened(context: dg.AssetExecutionContext, deployment: Deployment, *, alone: bool = True) -> Iterator[Stage]:
    """The asset's dataset; its shards announced. Errors end the step with one line.

    Args:
        context: Of the asset.
        deployment: Opens the dataset.
        alone: Hold the dataset against other builds until the run ends.
    """
    keys = _keys(context)
    watching = caller()
    progress = watching.progress if watching else LoggedProgress(context.log.info)
    dataset = context.asset_key.path[0]
    with told_in_one_line(), _canceled_by_signal(context):
        ctx = deployment.building(dataset, context.run.run_id, progress, alone=alone, tell=context.log.warning)
        if deployment.first_stage():
            _tag(context, dataset)
        events.announce(context, keys)
        yield Stage(ctx, shard_numbers(keys))


def _keys(context: dg.AssetExecutionContext) -> list[str]:
    """The shards of the run; none for an asset that is not sharded."""
    if not (context.has_assets_def and context.assets_def.partitions_def):
        return []
    if not (context.has_partition_key or context.has_partition_key_range):
        _take_all_shards(context)
    return list(context.partition_keys)


def _take_all_shards(context: dg.AssetExecutionContext) -> None:
    """Make a run over all shards of one whose launcher has named none, as the Launchpad does by default.

    Dagster reads the range off the tags of the run, which all steps of this process share, whenever it needs it.
    """
    cast("dict[str, str]", context.run.tags).update(ALL_SHARDS)
    context.instance.add_run_tags(context.run.run_id, ALL_SHARDS)


def _tag(context: dg.AssetExecutionContext, dataset: str) -> None:
    """Say which process holds the run's lock, and give a run from an asset's page the tags that a job's run has."""
    tags = {DATASET_TAG: dataset, CAUSE_TAG: "manual", **context.run.tags, PROCESS_TAG: str(os.getpid())}
    if tags != context.run.tags:
        context.instance.add_run_tags(context.run.run_id, tags)


@contextmanager
def _canceled_by_signal(context: dg.AssetExecutionContext) -> Iterator[None]:
    """Let Ctrl-C cancel the run: without being told, Dagster takes it for a failure."""
    try:
        yield
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        run = context.instance.get_run_by_id(context.run.run_id)
        if run is not None and run.status is dg.DagsterRunStatus.STARTED:
            context.instance.report_run_canceling(run, message="Ended from outside")
        raise


def finished(report: StageReport) -> StageReport:
    """The report, handed to whoever runs the job in this process."""
    if (watching := caller()) is not None:
        watching.reports.append(report)
    return report


def told(
    context: dg.AssetExecutionContext,
    report: StageReport,
    states: Mapping[int, ShardState],
    more: Mapping[str, dg.MetadataValue] | None = None,
) -> Iterator[Result]:
    """The result of a sharded asset, then the events of its shards: the last event counts."""
    results = reporting.shard_results(report, states)
    events.report_checks(context, results)
    yield dg.MaterializeResult(
        metadata=reporting.stage_metadata(report), check_results=[events.check_result(context.asset_key, results)]
    )
    whole = reporting.overview(report, {**reporting.sizes(states), **(more or {})})
    events.report_shards(context, results, whole)
