"""Compares what is stored with what should be, and asks for runs until nothing differs, whatever event was missed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as UnresolvedAssetJob

from pipelines.sensors.asking import Memory, tick

if TYPE_CHECKING:
    from overstory.building.context import BuildContext
    from overstory.building.differences import Differences

INTERVAL_SECONDS = 120

DESCRIPTION = """Every two minutes: recomputes the state of every node from the record's hashes, and asks for a run
while one of them is stale, missing or orphaned and no run has looked at it yet, as after an interrupted run
or with other settings. It only reads: a preview changes nothing."""


def staleness(dataset: str, job: UnresolvedAssetJob) -> dg.SensorDefinition:
    """The sensor of one dataset's index."""

    @dg.sensor(
        name=f"{dataset}__staleness",
        job=job,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=DESCRIPTION,
    )
    def look_at_index(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        now = time.time()
        return tick(context, dataset, "staleness", Memory.read(context.cursor, now), now, _differences)

    return look_at_index


def _differences(ctx: BuildContext) -> Differences:
    from overstory.building import differences

    return differences.of_index(ctx)
