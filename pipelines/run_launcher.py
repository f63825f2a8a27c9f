"""Dagster's launcher of runs in processes of this machine, which also notices when such a process has died."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.launcher.default_run_launcher import DefaultRunLauncher
from dagster._serdes import ConfigurableClassData

from pipelines.deployment import read_settings
from pipelines.lost_runs import GONE, is_lost

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord


class WatchedRunLauncher(DefaultRunLauncher):
    """Tells Dagster's run monitoring whether the process of a run still holds its lock in the record.

    Without it a run that was killed stays "started", and the queue waits behind it for ever.
    """

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(inst_data)
        self._record: PostgresRecord | None = None

    @property
    def supports_check_run_worker_health(self) -> bool:
        """It does: Dagster's own launcher does not."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the run's process lives; one that has hardly started counts as alive.

        Raises:
            OverstoryError: The record does not answer; nothing is said about the run, and it is asked again.
        """
        record = self._instance.get_run_record_by_id(run.run_id)
        if record is None or not is_lost(record, self._opened().living([run.run_id]), datetime.now(UTC)):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, GONE)

    def dispose(self) -> None:
        """Give the connections back."""
        if self._record is not None:
            self._record.close()
            self._record = None
        super().dispose()

    def _opened(self) -> PostgresRecord:
        from overstory import api

        if self._record is None:
            self._record = api.open_record(api.home_of(read_settings()))
        return self._record
