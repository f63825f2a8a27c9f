"""Schedules of a dataset; made switched off, and switched on once by ``overstory dev``."""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as UnresolvedAssetJob

from pipelines.jobs import ALL_SHARDS, CAUSE_TAG

NIGHTLY = "0 2 * * *"


def nightly(dataset: str, job: UnresolvedAssetJob) -> dg.ScheduleDefinition:
    """Build what changed, every night at two."""

    @dg.schedule(
        name=f"{dataset}__nightly",
        job=job,
        cron_schedule=NIGHTLY,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Every night at two, in the time zone of the daemon: builds what changed, in one run.",
    )
    def build_at_night() -> dg.RunRequest:
        return dg.RunRequest(tags={CAUSE_TAG: "schedule", **ALL_SHARDS})

    return build_at_night
