"""Who may stop the embedded Postgres of a home while others use it, and what those who use it notice."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from overstory.adapters.embedded_postgres import connected, start, status, stop
from overstory.cli.serving import user_of
from overstory.errors import EmbeddedServerError
from overstory.home import create_home
from overstory.server_marker import serving
from pipelines.database_watch import DatabaseWatch
from tests.conftest import DatabaseMaker, discard
from tests.integration.test_cli import COMMAND


@pytest.fixture(scope="module")
def home(server_home: Path) -> Iterator[Path]:
    """A home whose server each test leaves as it likes."""
    home = server_home.with_suffix(".stopping")
    yield home
    discard(home)


def stop_command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if key != "OVERSTORY_DATABASE_URL"}
    return subprocess.run(
        [COMMAND, "stop", *arguments],
        cwd="/",
        env={**environ, "OVERSTORY_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_server_that_nobody_uses_is_stopped(home: Path) -> None:
    start(home)
    assert stop_command(home).returncode == 0
    assert status(home).pid is None


def test_server_of_a_home_that_is_served_runs_on(home: Path) -> None:
    start(home)
    with serving(home, "http://127.0.0.1:3000"):
        done = stop_command(home)
    assert done.returncode == 1
    assert done.stderr == (
        f"overstory: The embedded Postgres is in use: overstory dev serves this home (pid {os.getpid()}). "
        "End that first, or add --force\n"
    )
    assert status(home).pid is not None


def test_server_that_a_build_is_connected_to_runs_on_unless_forced(home: Path) -> None:
    with psycopg.connect(start(home).libpq_url, application_name="overstory run 4711"):
        refused = stop_command(home)
        assert status(home).pid is not None
        forced = stop_command(home, "--force")
    assert "a build uses this home (run 4711)" in refused.stderr
    assert (refused.returncode, forced.returncode) == (1, 0)
    assert status(home).pid is None


def test_any_other_program_uses_a_home_until_it_disconnects(home: Path) -> None:
    with psycopg.connect(start(home).libpq_url):
        assert connected(home) == ("",)
        assert user_of(home) == "another program uses this home"
    assert user_of(home) == ""


def test_crashed_server_is_started_again_for_those_who_are_served(home: Path) -> None:
    start(home)
    process = psutil.Process(status(home).pid)
    process.kill()
    process.wait(10)
    told: list[str] = []
    DatabaseWatch(home, {}, told.append).look()
    assert told == ["The embedded Postgres had ended by itself; it has been started again"]
    assert status(home).pid is not None


def test_server_that_somebody_stopped_is_not_started_again(home: Path) -> None:
    start(home)
    stop(home)
    with pytest.raises(EmbeddedServerError, match="was stopped"):
        DatabaseWatch(home, {}, print).look()
    assert status(home).pid is None


def test_loss_and_return_of_a_database_of_ones_own_are_told_once(tmp_path: Path, make_database: DatabaseMaker) -> None:
    create_home(tmp_path / "home")
    told: list[str] = []
    environ = {"OVERSTORY_DATABASE_URL": "postgresql://user@127.0.0.1:1/none"}
    watch = DatabaseWatch(tmp_path / "home", environ, told.append)
    watch.look()
    watch.look()
    environ["OVERSTORY_DATABASE_URL"] = make_database()
    watch.look()
    watch.look()
    assert [line.split(";")[0] for line in told] == [
        "The database does not answer: nothing listens at its address",
        "The database answers again",
    ]
