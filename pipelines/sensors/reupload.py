"""Notices that documents came, changed, moved or went, and asks for one run that brings the index along."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as UnresolvedAssetJob

from overstory.errors import OverstoryError, SettingsError
from pipelines.sensors.asking import Memory, answer, busy, opened

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
        try:
            with opened(dataset) as ctx:
                if (run_id := busy(context.instance, ctx)) is not None:
                    return dg.SkipReason(f"Run {run_id} is at work: looks again when it has ended")
                found = _differences(ctx, hashes, full=full)
        except OverstoryError as error:
            return dg.SkipReason(str(error))
        if full:
            memory = Memory(memory.asked, now)
        return answer(context, dataset, "re-upload", found, memory, now)

    return look_at_source


def _differences(ctx: BuildContext, hashes: Hashes, *, full: bool) -> Differences:
    from overstory.building import differences
    from overstory.building.comparing import compare

    scan = compare(ctx, trusting=not full, hashes=hashes)
    if not scan.rows:
        # Nobody has seen the price of the whole corpus yet.
        raise SettingsError(f"Dataset '{ctx.name}' has no documents yet", hint="Launch its first build yourself")
    return differences.of_source(scan)
