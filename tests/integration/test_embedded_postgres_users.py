"""The embedded server and who runs it: root, another user, and folders that one of them may not enter."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from overstory.adapters.embedded_postgres import binaries, remove, start, status, stop
from overstory.adapters.embedded_postgres.account import Account
from overstory.adapters.embedded_postgres.binaries import find_binaries
from overstory.adapters.embedded_postgres.state import STATE
from overstory.errors import EmbeddedServerError
from tests.conftest import discard

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become other users")

NOBODY = 65534


@pytest.fixture
def closed_home(new_home: Path) -> Iterator[Path]:
    """A home of root's below a folder that nobody else may enter, as below ``/root``."""
    new_home.mkdir(mode=0o700)
    home = new_home / "project" / ".overstory"
    yield home
    remove(home)


@pytest.fixture
def home_of_nobody(new_home: Path) -> Iterator[Path]:
    """A home that an ordinary user made."""
    new_home.mkdir(mode=0o700)
    os.chown(new_home, NOBODY, NOBODY)
    yield new_home
    shutil.rmtree(f"/tmp/overstory-{NOBODY}", ignore_errors=True)


def modes_above(path: Path) -> dict[Path, int]:
    return {folder: stat.S_IMODE(folder.stat().st_mode) for folder in path.parents if folder.exists()}


def answers(home: Path) -> bool:
    with psycopg.connect(start(home).libpq_url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def as_nobody(action: Callable[[], object]) -> object:
    """What ``action`` returns, or the error it raises, when an ordinary user runs it."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        outcome: object = "the process ended without a word"
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            outcome = action()
        except Exception as error:  # noqa: BLE001 - the test looks at whatever it is
            outcome = f"{type(error).__name__}: {error}"
        finally:
            os.write(writer, pickle.dumps(outcome))
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        outcome = pickle.loads(answer.read())
    os.waitpid(child, 0)
    return outcome


@pytest.fixture(autouse=True)
def _reachable_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user runs the programs of the environment; where it cannot enter that, those of root's copy."""
    nobody = Account(NOBODY, NOBODY, foreign=True)
    if not nobody.reaches(find_binaries(Account(0, 0, foreign=False)).postgres.parent):
        site = find_binaries(nobody).postgres.parents[3]
        monkeypatch.setattr(binaries, "_site_folder", lambda: site)


def test_no_folder_above_the_home_gets_another_mode(closed_home: Path) -> None:
    before = modes_above(closed_home)
    assert answers(closed_home)
    after = modes_above(closed_home)
    assert {folder: after[folder] for folder in before} == before


def test_data_of_a_home_that_the_server_cannot_reach_lies_in_our_own_folder(closed_home: Path) -> None:
    start(closed_home)
    data = status(closed_home).data
    assert data is not None
    assert data.is_relative_to(STATE)


def test_a_home_deleted_and_made_anew_starts_empty_and_keeps_the_old_data(closed_home: Path) -> None:
    with psycopg.connect(start(closed_home).libpq_url) as connection:
        connection.execute("CREATE TABLE old ()")
    shutil.rmtree(closed_home)
    with psycopg.connect(start(closed_home).libpq_url) as connection:
        found = connection.execute("SELECT to_regclass('old')").fetchone()
    folder = (closed_home / "postgres").resolve()
    spares = list(folder.parent.glob(f"{folder.name}.*"))
    for spare in spares:
        shutil.rmtree(spare)
    assert (found, len(spares)) == ((None,), 1)


def test_root_runs_the_server_as_a_user_that_is_not_root(new_home: Path) -> None:
    start(new_home)
    assert psutil.Process(status(new_home).pid).uids().effective != 0


def test_root_runs_the_server_of_a_users_home_as_that_user(home_of_nobody: Path) -> None:
    start(home_of_nobody)
    assert psutil.Process(status(home_of_nobody).pid).uids().effective == NOBODY


def test_a_user_goes_on_with_the_server_that_root_started(home_of_nobody: Path) -> None:
    start(home_of_nobody)
    assert as_nobody(lambda: answers(home_of_nobody)) is True


def test_a_user_starts_the_server_that_root_stopped(home_of_nobody: Path) -> None:
    start(home_of_nobody)
    stop(home_of_nobody)
    assert as_nobody(lambda: answers(home_of_nobody)) is True


def test_an_ordinary_user_starts_a_server_of_its_own(home_of_nobody: Path) -> None:
    assert as_nobody(lambda: answers(home_of_nobody)) is True
    assert psutil.Process(status(home_of_nobody).pid).uids().effective == NOBODY


def test_an_ordinary_users_long_home_has_its_socket_in_a_private_folder(home_of_nobody: Path) -> None:
    home = home_of_nobody / ("x" * 150)

    def folder_of_the_socket() -> str:
        try:
            return start(home).host_socket_dir if answers(home) else "no answer"
        finally:
            remove(home)

    assert str(as_nobody(folder_of_the_socket)).startswith(f"/tmp/overstory-{NOBODY}/")


@pytest.mark.parametrize("trap", ["symbolic link", "folder of another user"])
def test_a_socket_folder_prepared_by_someone_else_is_refused(home_of_nobody: Path, tmp_path: Path, trap: str) -> None:
    place = Path(f"/tmp/overstory-{NOBODY}")
    if trap == "symbolic link":
        place.symlink_to(tmp_path)
    else:
        place.mkdir()
    try:
        said = as_nobody(lambda: start(home_of_nobody / ("x" * 150)))
    finally:
        place.unlink() if place.is_symlink() else place.rmdir()
    assert str(place) in str(said)


def test_a_home_that_cannot_be_written_to_is_an_error_that_says_so(new_home: Path) -> None:
    new_home.mkdir(mode=0o755)
    said = str(as_nobody(lambda: start(new_home)))
    assert "Permission denied" in said
    assert "OVERSTORY_HOME" in said


def test_a_server_of_another_user_is_an_error_that_says_so(new_home: Path) -> None:
    start(new_home)
    said = str(as_nobody(lambda: start(new_home)))
    assert "belongs to another user" in said


def test_files_of_a_user_number_that_changed_are_handed_over(new_home: Path) -> None:
    with psycopg.connect(start(new_home).libpq_url) as connection:
        connection.execute("CREATE TABLE kept ()")
    discard_server = status(new_home).data
    assert discard_server is not None
    stop(new_home)
    for path in (discard_server.parent, *discard_server.parent.rglob("*")):
        os.chown(path, 54321, 54321)
    assert answers(new_home)


def test_without_a_program_to_create_a_user_root_is_told_what_to_do(
    new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overstory.adapters.embedded_postgres.account.USER_NAME", "overstory-absent")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EmbeddedServerError, match="neither useradd nor adduser is installed"):
        start(new_home)


def test_a_link_in_place_of_the_server_folder_is_refused(new_home: Path, tmp_path: Path) -> None:
    new_home.mkdir(mode=0o711)
    (new_home / "postgres").symlink_to(tmp_path)
    with pytest.raises(EmbeddedServerError, match="which Overstory did not make"):
        start(new_home)
    (new_home / "postgres").unlink()
    discard(new_home)
