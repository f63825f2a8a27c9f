"""Runs whose process died without a word: they would look as if they went on for ever."""

from __future__ import annotations

import dagster as dg

from pipelines.jobs import DATASET_TAG

RUNNING = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def settle(instance: dg.DagsterInstance, dataset: str) -> int:
    """Mark a dataset's runs that claim to be running as failed; returns how many there were.

    Call it while holding the dataset's lock: a run that lives would hold it. The shards that such a run has
    announced, and not made, then show as failed.
    """
    lost = instance.get_runs(dg.RunsFilter(tags={DATASET_TAG: dataset}, statuses=RUNNING))
    for run in lost:
        instance.report_run_failed(run, message="The process of this run is gone. Build again: it goes on from here.")
    return len(lost)
