"""Jobs of a dataset."""

from __future__ import annotations

from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as UnresolvedAssetJob

from pipelines.partitions import SHARD_KEYS

DATASET_TAG = "overstory/dataset"
CAUSE_TAG = "overstory/cause"
PROCESS_TAG = "overstory/process"
"""The number of the process that holds the run's lock in the record; set once it does."""
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"

ALL_SHARDS = {RANGE_START_TAG: SHARD_KEYS[0], RANGE_END_TAG: SHARD_KEYS[-1]}
"""What makes one run out of all shards; Dagster takes these tags with a run only, not with a job."""


def console(log_level: str) -> dict[str, Any]:
    """Run configuration for the console of a run, which by default repeats every event that the UI shows."""
    return {"loggers": {"console": {"config": {"log_level": log_level}}}}


def build_all(dataset: str) -> UnresolvedAssetJob:
    """The job over the whole graph, for the shards that its launcher names."""
    return dg.define_asset_job(
        f"{dataset}__build_all",
        selection=dg.AssetSelection.groups(dataset),
        executor_def=dg.in_process_executor,
        tags={DATASET_TAG: dataset, CAUSE_TAG: "manual"},
        config=console("WARNING"),
        description="Builds every level for the shards that you choose. What is fresh stays as it is.",
    )


def build_changed_name(dataset: str) -> str:
    """The name of the job that builds what changed."""
    return f"{dataset}__build_changed"


def build_changed(dataset: str) -> UnresolvedAssetJob:
    """The job over the whole graph and all shards in one run; fresh shards are no-ops."""
    return dg.define_asset_job(
        build_changed_name(dataset),
        selection=dg.AssetSelection.groups(dataset),
        executor_def=dg.in_process_executor,
        tags={DATASET_TAG: dataset, CAUSE_TAG: "manual"},
        config=console("WARNING"),
        description="Builds what changed since the last build, every level, in one run. Costs nothing if nothing did.",
    )
