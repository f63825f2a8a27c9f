"""Notices that documents came, changed, moved or went, and asks for one run that brings the index along."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as UnresolvedAssetJob

from overstory.errors import SettingsError
from pipelines.sensors.asking import Memory, tick

if TYPE_CHECKING:
    from overstory.building.comparing import Hashes
    from overstory.building.context import BuildContext
    from overstory.building.differences import Differences

INTERVAL_SECONDS = 30
FULL_SCAN_SECONDS = 24 * 3600
"""Between two scans that read all bytes: a tool may write a file and put its size and time back."""

DESCRIPTION = """Every 30 seconds: lists the source and reads the files whose size or time has changed; once a day it
reads all. Asks for one run for everything that changed, after the first build, which a person launches. It only reads:
a preview changes nothing."""


def reupload(dataset: str, job: UnresolvedAssetJob) -> dg.SensorDefinition:
    """The sensor of one dataset's source."""
    hashes: Hashes = {}

    @dg.sensor(
        name=f"{dataset}__reupload",
        job=job,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=DESCRIPTION,
    )
    def look_at_source(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        now = time.time()
        memory = Memory.read(context.cursor, now)
        full = now - memory.full_scan > FULL_SCAN_SECONDS
        if full:
            memory = Memory(memory.asked, now)
        return tick(context, dataset, "re-upload", memory, now, lambda ctx: _differences(ctx, hashes, full=full))

    return look_at_source


def _differences(ctx: BuildContext, hashes: Hashes, *, full: bool) -> Differences:
    from overstory.building import differences
    from overstory.building.comparing import compare

    scan = compare(ctx, trusting=not full, hashes=hashes)
    if not scan.rows:
        # Nobody has seen the price of the whole corpus yet.
        raise SettingsError(f"Dataset '{ctx.name}' has no documents yet", hint="Launch its first build yourself")
    return differences.of_source(scan)
