"""What the command line asks of Dagster: build in this process, serve the UI, tell about the last run of a shard."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

import pipelines  # noqa: F401  (sets what Dagster reads when it is imported)
from overstory import api
from overstory.building.context import no_progress
from overstory.building.report import StageReport
from overstory.errors import BuildInterrupted
from overstory.identity import shard_key
from overstory.ports import Progress
from overstory.settings import Settings
from pipelines import instance as instances
from pipelines.caller import Caller, calling
from pipelines.datasets import dataset_definitions, shared_definitions
from pipelines.jobs import CAUSE_TAG, RANGE_END_TAG, RANGE_START_TAG, build_changed_name, console
from pipelines.lost_runs import settle
from pipelines.partitions import SHARD_KEYS
from pipelines.runs import LastRun, last_run
from pipelines.webserver import dev

__all__ = ["Built", "LastRun", "build", "dev", "last_run"]


@dataclass(frozen=True, slots=True)
class Built:
    """A finished build."""

    run_id: str
    """Of the Dagster run, as the UI shows it."""
    reports: list[StageReport]
    """One for each stage, in order."""


def build(
    settings: Settings,
    dataset: str,
    *,
    home: Path,
    shards: Collection[int] | None = None,
    documents: Sequence[str] = (),
    cause: str = "cli",
    progress: Progress = no_progress,
) -> Built:
    """Run a dataset's job in this process; the run and what it made are seen in the UI.

    Args:
        settings: Of the deployment.
        dataset: The name of one of its datasets.
        home: Of the deployment.
        shards: The run covers all shards from the least to the greatest of them; all 64 by default.
        documents: Paths or ids of the only documents to bring up to date.
        cause: Kept with the run, as the tag ``overstory/cause``.
        progress: Told how far each stage is.

    Raises:
        BuildLocked: Another build holds the dataset; no run was made.
        BuildInterrupted: A signal ended it; what was finished is kept.
        OverstoryError: Whatever ended the run, as the core raised it.
    """
    chosen = settings.dataset(dataset)
    with instances.opened(settings, home) as instance, _quiet():
        _settle_lost(instance, dataset, home)
        job = dg.Definitions.merge(shared_definitions(), dataset_definitions(chosen)).resolve_job_def(
            build_changed_name(dataset)
        )
        caller = Caller(progress)
        try:
            with calling(caller):
                result = job.execute_in_process(
                    instance=instance, tags={CAUSE_TAG: cause, **_range(shards)}, run_config=_run_config(documents)
                )
        except (KeyboardInterrupt, DagsterExecutionInterruptedError) as error:
            raise _interrupted(dataset) from error
        except dg.Failure as failure:
            raise caller.error or failure from None
        return Built(result.run_id, caller.reports)


def _interrupted(dataset: str) -> BuildInterrupted:
    return BuildInterrupted(
        f"The build of dataset '{dataset}' was interrupted", hint="Build again: it goes on where it stopped"
    )


def _settle_lost(instance: dg.DagsterInstance, dataset: str, home: Path) -> None:
    """Mark runs whose process has died as failed: nobody builds while the lock is free."""
    record = api.open_record(home)
    try:
        with record.lock(dataset):
            settle(instance, dataset)
    finally:
        record.close()


def _range(shards: Collection[int] | None) -> dict[str, str]:
    keys = sorted(map(shard_key, shards)) if shards else SHARD_KEYS
    return {RANGE_START_TAG: keys[0], RANGE_END_TAG: keys[-1]}


def _run_config(documents: Sequence[str]) -> dict[str, object]:
    return {**console("CRITICAL"), "resources": {"deployment": {"config": {"documents": list(documents)}}}}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dagster's own remarks off the terminal: progress and errors are told by the caller."""
    logger = logging.getLogger("dagster")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
