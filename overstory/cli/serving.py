"""``overstory dev`` and ``overstory stop``."""

from __future__ import annotations

import time
from pathlib import Path

from overstory import api
from overstory.cli import tables
from overstory.cli.deployment import for_build
from overstory.cli.progress import Notice
from overstory.errors import EmbeddedServerError
from overstory.server_marker import refuse_served, server_of
from overstory.settings import FILE_NAME, Settings, find_file, load

_RUN = "overstory run "
"""How the connections of a build begin to name themselves."""
_LEAVING_SECONDS = 1.0
"""How long a connection that its program has closed may still be seen."""


def dev(folder: Path | None, dataset: str | None, port: int) -> None:
    """Serve the Dagster UI and run its daemon until interrupted."""
    deployment, _ = for_build(folder, dataset)
    refuse_served(deployment.home)
    with Notice() as notice:
        notice("Starting Dagster, which takes about ten seconds")
        from pipelines import launch

        launch.dev(deployment.settings, deployment.home, port=port, notice=notice)


def stop(*, force: bool) -> None:
    """Stop the embedded server of this home.

    Raises:
        EmbeddedServerError: Something is connected to it, and nobody said ``force``.
    """
    from overstory.adapters import embedded_postgres

    found = find_file(Path.cwd())
    settings = load(found) if found else Settings(datasets=())
    home = api.home_of(settings)
    if not force and (user := user_of(home)):
        raise EmbeddedServerError(f"The embedded Postgres is in use: {user}", hint="End that first, or add --force")
    stopped = embedded_postgres.stop(home)
    where = f"of {FILE_NAME} in {settings.folder}" if found else f"in {home}"
    tables.show(f"The embedded Postgres {where} {'has stopped' if stopped else 'was not running'}")


def user_of(home: Path) -> str:
    """Who uses the embedded server of ``home`` now, in words; empty if nobody does."""
    from overstory.adapters import embedded_postgres

    if embedded_postgres.status(home).pid is None:
        return ""
    if (server := server_of(home)) is not None:
        return f"overstory dev serves this home (pid {server.pid})"
    deadline = time.monotonic() + _LEAVING_SECONDS
    while names := embedded_postgres.connected(home):
        if time.monotonic() > deadline:
            runs = [name.removeprefix(_RUN) for name in names if name.startswith(_RUN)]
            return f"a build uses this home (run {runs[0]})" if runs else "another program uses this home"
        time.sleep(0.05)
    return ""
