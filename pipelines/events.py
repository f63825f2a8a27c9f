"""Events of single shards within a run over many: what is planned, what was made, and what its check says.

Dagster gives all partitions of one run the same data version, and marks none as failed when planned events are
sent once for all (``DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS``). So a step announces its own shards before
it works and reports each with its own data version after the result of the asset: the last event of a partition
counts, and an announced shard without a later report is a failed one as soon as its run has failed or is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster._core.events import (
    AssetMaterializationPlannedData,
    DagsterEvent,
    DagsterEventBatchMetadata,
    generate_event_batch_id,
)

CHECK = "complete"
DATA_VERSION_TAG = "dagster/data_version"

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


def announce(context: dg.AssetExecutionContext, keys: Sequence[str]) -> None:
    """Say that the shards are about to be made by this run."""
    step = context.op_execution_context._step_execution_context.step.key
    for key in keys:
        planned = AssetMaterializationPlannedData(context.asset_key, partition=key)
        event = DagsterEvent.build_asset_materialization_planned_event(context.job_name, step, planned)
        context.instance.report_dagster_event(event, context.run_id)


def report_shards(context: dg.AssetExecutionContext, results: Sequence[ShardResult]) -> None:
    """Store each shard's materialization, all in one statement, and its check."""
    step = context.op_execution_context._step_execution_context
    batch = generate_event_batch_id()
    for place, result in enumerate(results, 1):
        made = dg.AssetMaterialization(
            context.asset_key,
            partition=result.key,
            metadata=result.metadata,
            tags={DATA_VERSION_TAG: result.data_version, "dagster/data_version_is_user_provided": "true"},
        )
        DagsterEvent.asset_materialization(step, made, DagsterEventBatchMetadata(batch, place == len(results)))
    for result in results[1:]:
        context.log_event(evaluation(context.asset_key, result))


def report_overview(context: dg.AssetExecutionContext, metadata: Metadata) -> None:
    """Say what the run did to the asset as a whole, beside its partitions."""
    context.log_event(dg.AssetObservation(context.asset_key, metadata=metadata))


def check_result(asset: dg.AssetKey, result: ShardResult) -> dg.AssetCheckResult:
    """The check of the first shard as the output that Dagster expects of the step."""
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=CHECK,
        passed=result.failed == 0,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=_check_metadata(result),
    )


def evaluation(asset: dg.AssetKey, result: ShardResult) -> dg.AssetCheckEvaluation:
    """Whether all nodes of a shard could be made."""
    return dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=CHECK,
        passed=result.failed == 0,
        severity=dg.AssetCheckSeverity.WARN,
        partition=result.key,
        metadata=_check_metadata(result),
    )


def _check_metadata(result: ShardResult) -> dict[str, int]:
    return {"nodes": result.nodes, "failed": result.failed}
