"""What the command line asks of Dagster: build in this process, serve the UI, tell about the last run of a shard."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.storage.tags import REPOSITORY_LABEL_TAG
from dagster._core.utils import make_new_run_id
from dagster_postgres.utils import DagsterPostgresException

import pipelines  # noqa: F401  (sets what Dagster reads when it is imported)
from overstory import api
from overstory.adapters.postgres.driver_errors import translated
from overstory.building.context import no_progress
from overstory.building.report import StageReport
from overstory.errors import BuildInterrupted, StoreUnavailable
from overstory.identity import shard_key
from overstory.ports import Progress
from overstory.settings import Dataset, Settings
from pipelines import instance as instances
from pipelines.caller import Caller, calling
from pipelines.datasets import dataset_definitions, shared_definitions
from pipelines.jobs import CAUSE_TAG, PROCESS_TAG, RANGE_END_TAG, RANGE_START_TAG, build_changed_name, console
from pipelines.lost_runs import settle
from pipelines.partitions import SHARD_KEYS
from pipelines.runs import LastRun, last_run
from pipelines.webserver import dev

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord
    from overstory.record import Hold

__all__ = ["Built", "LastRun", "build", "dev", "last_run"]

LABEL = "__repository__@pipelines.definitions"
"""Where the UI finds the job of the run: without it a build on the command line is missing from the job's page."""


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
    run_id = make_new_run_id()
    with instances.opened(settings, home) as instance, _quiet(), _holding(home, dataset, run_id) as (record, hold):
        settle(instance, record.living, dataset, datetime.now(UTC))
        only = _ids(chosen, record, documents)
        job = dg.Definitions.merge(shared_definitions(), dataset_definitions(chosen)).resolve_job_def(
            build_changed_name(dataset)
        )
        caller = Caller(progress, hold)
        try:
            with calling(caller), _database_errors():
                job.execute_in_process(
                    instance=instance,
                    run_id=run_id,
                    tags={**_tags(cause), **_range(shards)},
                    run_config=_run_config(only),
                )
        except (KeyboardInterrupt, DagsterExecutionInterruptedError) as error:
            raise _interrupted(dataset) from error
        except dg.Failure as failure:
            raise caller.error or failure from None
        return Built(run_id, caller.reports)


@contextmanager
def _database_errors() -> Iterator[None]:
    """Errors of Dagster's own storage as ours: it lies in the same database, which may be full or gone.

    Raises:
        StoreError: One of them.
    """
    with translated():
        try:
            yield
        except DagsterPostgresException as error:
            raise StoreUnavailable(
                "The database does not answer", hint="Build again when it does: it goes on where it stopped"
            ) from error


@contextmanager
def _holding(home: Path, dataset: str, run_id: str) -> Iterator[tuple[PostgresRecord, Hold]]:
    """The record, and what the run holds from before it exists until after it has ended.

    Raises:
        BuildLocked: Another build holds the dataset.
    """
    record = api.open_record(home)
    try:
        with record.hold(run_id) as hold:
            hold.take(dataset)
            yield record, hold
    finally:
        record.close()


def _ids(dataset: Dataset, record: PostgresRecord, documents: Sequence[str]) -> list[str]:
    """Ids of the documents that people name: a run keeps its configuration for ever, and a path may say too much."""
    if not documents:
        return []
    return sorted(map(str, api.choose_documents(api.open_dataset(dataset, record), documents)))


def _interrupted(dataset: str) -> BuildInterrupted:
    return BuildInterrupted(
        f"The build of dataset '{dataset}' was interrupted", hint="Build again: it goes on where it stopped"
    )


def _tags(cause: str) -> dict[str, str]:
    return {CAUSE_TAG: cause, PROCESS_TAG: str(os.getpid()), REPOSITORY_LABEL_TAG: LABEL}


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
