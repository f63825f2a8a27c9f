"""Runs whose process died without a word: they would look as if they went on for ever."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

import dagster as dg

from pipelines.jobs import DATASET_TAG, PROCESS_TAG

RUNNING = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""States of a run that some process works on, or did; one that waits in the queue is nobody's yet."""
GRACE = timedelta(minutes=2)
"""What a run that Dagster launched may take from its start to its first step, which takes the lock and says so."""
Living = Callable[[Iterable[str]], Collection[str]]
"""Of given ids, those of the runs whose process lives."""
GONE = "The process of this run is gone. Build again: it goes on from here."


def is_lost(record: dg.RunRecord, living: Collection[str], now: datetime) -> bool:
    """Whether nothing works on the run any more.

    Args:
        record: Of a run that claims to be running.
        living: Ids of the runs whose process holds its lock in the record.
        now: With a time zone.
    """
    run = record.dagster_run
    if run.run_id in living:
        return False
    return PROCESS_TAG in run.tags or now - record.update_timestamp > GRACE


def settle(instance: dg.DagsterInstance, living: Living, dataset: str, now: datetime) -> int:
    """Mark a dataset's lost runs as failed; returns how many there were.

    The shards that such a run has announced, and not made, then show as failed.

    Args:
        instance: Where the runs are kept.
        living: Of given ids, those of the runs whose process lives.
        dataset: Whose runs.
        now: With a time zone.
    """
    lost, _ = sorted_out(instance, living, dataset, now)
    for run in lost:
        instance.report_run_failed(run, message=GONE)
    return len(lost)


def sorted_out(
    instance: dg.DagsterInstance, living: Living, dataset: str, now: datetime
) -> tuple[list[dg.DagsterRun], list[dg.DagsterRun]]:
    """A dataset's runs that claim to be running: the lost ones, and those that live."""
    claimed = instance.get_run_records(dg.RunsFilter(tags={DATASET_TAG: dataset}, statuses=RUNNING))
    alive = living([record.dagster_run.run_id for record in claimed])
    lost = [record.dagster_run for record in claimed if is_lost(record, alive, now)]
    return lost, [record.dagster_run for record in claimed if record.dagster_run not in lost]
