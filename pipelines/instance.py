"""Dagster's instance in a home: its settings file, and its storage in the database that holds the index."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from overstory import api
from overstory.adapters.database_url import database_url, in_schema, sqlalchemy_url
from overstory.home import HOME_VARIABLE, dagster_home
from overstory.settings import Settings
from pipelines.deployment import SETTINGS_VARIABLE, settings_file

URL_VARIABLE = "OVERSTORY_DAGSTER_URL"
"""Dagster's spelling of the database address; never written into a file, since it may hold a password."""

SCHEMA = "dagster"
"""Of Dagster's tables: by itself it would take the schema of the role's name, which may be that of the index."""

CONFIGURATION = f"""\
# Written by Overstory at every start: change overstory.toml or the environment instead.
run_storage:
  module: dagster_postgres.run_storage
  class: PostgresRunStorage
  config: &database
    postgres_url:
      env: {URL_VARIABLE}
event_log_storage:
  module: pipelines.storage
  class: ShardEventLogStorage
  config: *database
schedule_storage:
  module: dagster_postgres.schedule_storage
  class: PostgresScheduleStorage
  config: *database
# What a step prints is not kept: it might be a document's text. It also would take the terminal away from a build
# on the command line.
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
telemetry:
  enabled: false
nux:
  enabled: false
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
concurrency:
  runs:
    max_concurrent_runs: 4
    tag_concurrency_limits:
      - key: overstory/dataset
        value:
          applyLimitPerUniqueValue: true
        limit: 1
run_launcher:
  module: pipelines.run_launcher
  class: WatchedRunLauncher
run_monitoring:
  enabled: true
  start_timeout_seconds: 120
  cancel_timeout_seconds: 30
  poll_interval_seconds: 10
schedules:
  use_threads: true
sensors:
  use_threads: true
retention:
  schedule:
    purge_after_days: 90
  sensor:
    purge_after_days:
      skipped: 7
      success: 90
"""


def prepare(settings: Settings, home: Path, environ: MutableMapping[str, str] = os.environ) -> Path:
    """Dagster's folder with its settings, and the environment that its processes need.

    Starts the embedded database where no other is named.

    Raises:
        StoreUnavailable: The database does not answer: Dagster itself would try for half a minute, then end with a
            stack trace.
    """
    record = api.open_record(home, environ)
    try:
        record.make_schema(SCHEMA)
    finally:
        record.close()
    folder = dagster_home(home)
    path = folder / "dagster.yaml"
    if not path.exists() or path.read_text(encoding="utf-8") != CONFIGURATION:
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(CONFIGURATION, encoding="utf-8")
        draft.replace(path)
    environ["DAGSTER_HOME"] = str(folder)
    environ[HOME_VARIABLE] = str(home)
    environ[SETTINGS_VARIABLE] = str(settings_file(settings, home))
    environ[URL_VARIABLE] = in_schema(sqlalchemy_url(database_url(environ, home), "psycopg2"), SCHEMA)
    return folder


@contextmanager
def opened(settings: Settings, home: Path) -> Iterator[dg.DagsterInstance]:
    """The instance, closed when the block ends; what it changed in the environment is put back."""
    before = dict(os.environ)
    folder = prepare(settings, home)
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            yield instance
    finally:
        os.environ.clear()
        os.environ.update(before)
