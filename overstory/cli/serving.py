"""``overstory dev`` and ``overstory stop``."""

from __future__ import annotations

from pathlib import Path

from overstory import api
from overstory.cli import tables
from overstory.cli.deployment import for_build
from overstory.settings import FILE_NAME, Settings, find_file, load


def dev(folder: Path | None, dataset: str | None, port: int) -> None:
    """Run Dagster's web page and daemon until interrupted."""
    from pipelines import launch

    deployment, _ = for_build(folder, dataset)
    launch.dev(deployment.settings, deployment.home, port=port)


def stop() -> None:
    """Stop the embedded server of this home."""
    from overstory.adapters import embedded_postgres

    found = find_file(Path.cwd())
    settings = load(found) if found else Settings(datasets=())
    home = api.home_of(settings)
    stopped = embedded_postgres.stop(home)
    where = f"of {FILE_NAME} in {settings.folder}" if found else f"in {home}"
    tables.show(f"The embedded Postgres {where} {'has stopped' if stopped else 'was not running'}")
