"""Runs as Dagster remembers them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from overstory.home import dagster_home
from overstory.identity import shard_key
from overstory.settings import Settings
from pipelines import instance as instances

ADDRESS_FILE = "address"
DEFAULT_ADDRESS = "http://127.0.0.1:3000"


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run that planned or made a shard."""

    run_id: str
    status: str
    """In Dagster's words, lower case: success, failure, started, canceled, ..."""
    url: str
    """Where the UI shows it, at the address where it was served last."""


def last_run(settings: Settings, home: Path, dataset: str, shard: int, level: str = "leaves") -> LastRun | None:
    """The newest run of a shard at a level; None where there was none."""
    with instances.opened(settings, home) as instance:
        run_id = _newest(instance, dg.AssetKey([dataset, level]), shard_key(shard))
        run = instance.get_run_by_id(run_id) if run_id else None
        if run is None:
            return None
        return LastRun(run.run_id, run.status.value.lower(), f"{_address(home)}/runs/{run.run_id}")


def _newest(instance: dg.DagsterInstance, asset: dg.AssetKey, key: str) -> str | None:
    """The id of the run of the newest event of a partition, planned or made."""
    planned = instance.event_log_storage.get_latest_asset_partition_materialization_attempts_without_materializations(
        asset
    )
    if key in planned:
        return planned[key][0]
    found = instance.fetch_materializations(dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[key]), limit=1)
    return found.records[0].run_id if found.records else None


def _address(home: Path) -> str:
    path = dagster_home(home) / ADDRESS_FILE
    return path.read_text(encoding="utf-8").strip() if path.exists() else DEFAULT_ADDRESS
