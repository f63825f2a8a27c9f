"""Events of single shards within a run over many: what is planned, what was made, and what its check says.

Dagster gives all partitions of one run the same data version, and marks none as failed when planned events are
sent once for all (``DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS``). So a step announces its own shards before
it works and reports each with its own data version after the result of the asset: the last event of a partition
counts, and an announced shard without a later report is a failed one as soon as its run has failed or is lost.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import dagster as dg
from dagster._core.definitions.data_version import DATA_VERSION_IS_USER_PROVIDED_TAG, DATA_VERSION_TAG
from dagster._core.events import (
    AssetMaterializationPlannedData,
    DagsterEvent,
    DagsterEventBatchMetadata,
    DagsterEventType,
)

from pipelines.partitions import shards

CHECK = "complete"
WHOLE = "whole run: "
"""Before the names of what a run did to all its shards together."""

Metadata = Mapping[str, "dg.MetadataValue | str | int | float | bool"]


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What became of one shard."""

    key: str
    data_version: str
    metadata: Metadata
    nodes: int
    """Nodes that ought to be there."""
    failed: int


def check_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """The check of a sharded asset."""
    return dg.AssetCheckSpec(
        CHECK,
        asset=asset,
        partitions_def=shards,
        description="Everything in the shard could be made. Warns with the number of nodes that could not.",
    )


def announce(context: dg.AssetExecutionContext, keys: Sequence[str]) -> None:
    """Say that the shards are about to be made by this run."""
    step = context.op_execution_context._step_execution_context.step.key
    for key, batch in _batched(keys):
        planned = AssetMaterializationPlannedData(context.asset_key, partition=key)
        event = DagsterEvent.build_asset_materialization_planned_event(context.run.job_name, step, planned)
        context.instance.report_dagster_event(event, context.run.run_id, logging.DEBUG, batch)


def report_checks(context: dg.AssetExecutionContext, results: Sequence[ShardResult]) -> None:
    """Store each shard's check, all in one batch; before the check of the whole, which the UI shows as the latest."""
    step = context.op_execution_context._step_execution_context
    for result, batch in _batched(results):
        found = dg.AssetCheckEvaluation(
            asset_key=context.asset_key,
            check_name=CHECK,
            passed=result.failed == 0,
            severity=dg.AssetCheckSeverity.WARN,
            partition=result.key,
            metadata={"nodes": result.nodes, "failed": result.failed},
        )
        message = f"{result.failed} of {result.nodes} nodes failed in shard {result.key}"
        DagsterEvent.from_step(DagsterEventType.ASSET_CHECK_EVALUATION, step, found, message, batch)


def report_shards(context: dg.AssetExecutionContext, results: Sequence[ShardResult], whole: Metadata) -> None:
    """Store each shard's materialization with its own data version, all in one batch.

    The last one also tells what the run did to the ``whole``: the page of an asset shows the metadata of the latest
    event, whatever shard that is of. An event of no partition would say it better, but makes every backfill fail.
    """
    step = context.op_execution_context._step_execution_context
    last = results[-1].key if results else ""
    for result, batch in _batched(results):
        told = {f"{WHOLE}{name}": value for name, value in whole.items()} if result.key == last else {}
        made = dg.AssetMaterialization(
            context.asset_key,
            partition=result.key,
            metadata={**told, **result.metadata},
            tags={DATA_VERSION_TAG: result.data_version, DATA_VERSION_IS_USER_PROVIDED_TAG: "true"},
        )
        DagsterEvent.asset_materialization(step, made, batch)


def check_result(asset: dg.AssetKey, results: Sequence[ShardResult]) -> dg.AssetCheckResult:
    """Whether nothing failed in any shard: the output of the check that the step must have."""
    failed = sum(result.failed for result in results)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=CHECK,
        passed=failed == 0,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "nodes": sum(result.nodes for result in results),
            "failed": failed,
            "shards": ", ".join(result.key for result in results if result.failed),
        },
    )


T = TypeVar("T")


def _batched(items: Sequence[T]) -> Iterator[tuple[T, DagsterEventBatchMetadata]]:
    """Each item with the mark by which Dagster keeps its event until the last one of the batch."""
    batch = uuid.uuid4().hex
    for place, item in enumerate(items, 1):
        yield item, DagsterEventBatchMetadata(batch, place == len(items))
