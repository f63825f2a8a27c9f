"""What the embedded server promises to those who start, find and stop it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from overstory.adapters.embedded_postgres import binaries, remove, server, start, status, stop
from overstory.adapters.embedded_postgres.processes import is_alive
from overstory.errors import EmbeddedServerError
from tests.conftest import discard

START = "import sys, pathlib, overstory.adapters.embedded_postgres as e; e.start(pathlib.Path(sys.argv[1]))"


@pytest.fixture(scope="module")
def used_home(server_home: Path) -> Iterator[Path]:
    """A home whose server was started before; tests leave it in any state that a start has to mend."""
    home = server_home.with_suffix(".used")
    start(home)
    yield home
    discard(home)


def pid_of(home: Path) -> int:
    pid = status(home).pid
    assert pid is not None
    return pid


def data_of(home: Path) -> Path:
    data = status(home).data
    assert data is not None
    return data


def ask(home: Path, query: str) -> object:
    with psycopg.connect(start(home).libpq_url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def kill_postmaster(home: Path) -> None:
    process = psutil.Process(pid_of(home))
    process.kill()
    process.wait(10)


def test_a_second_start_finds_the_server_of_the_first(used_home: Path) -> None:
    first = start(used_home), pid_of(used_home)
    assert (start(used_home), pid_of(used_home)) == first


def test_start_makes_our_database_with_pgvector_at_hand(used_home: Path) -> None:
    assert ask(used_home, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'") == "0.8.5"


def test_the_server_listens_on_no_port(used_home: Path) -> None:
    start(used_home)
    assert psutil.Process(pid_of(used_home)).net_connections("tcp") == []


def test_only_the_user_of_the_server_may_enter_the_folder_of_its_socket(used_home: Path) -> None:
    folder = Path(start(used_home).host_socket_dir).stat()
    owner = psutil.Process(pid_of(used_home)).uids().effective
    assert (stat.S_IMODE(folder.st_mode), folder.st_uid) == (0o700, owner)


def test_texts_are_compared_as_unicode_and_times_are_utc(used_home: Path) -> None:
    answer = ask(used_home, "SELECT lower('ÄΩ') || current_setting('timezone') || current_setting('server_encoding')")
    assert answer == "äωUTCUTF8"


def test_processes_that_start_at_once_get_one_server(new_home: Path) -> None:
    script = f"{START}; print(e.status(pathlib.Path(sys.argv[1])).pid)"
    starters = [
        subprocess.Popen([sys.executable, "-c", script, new_home], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    pids = {starter.communicate(timeout=60)[0] for starter in starters}
    assert pids == {f"{pid_of(new_home)}\n"}


def test_the_server_outlives_the_process_that_started_it(used_home: Path) -> None:
    stop(used_home)
    subprocess.run([sys.executable, "-c", START, used_home], check=True, timeout=60)
    assert psutil.Process(pid_of(used_home)).terminal() is None
    assert os.getsid(pid_of(used_home)) != os.getsid(0)


def test_the_server_is_no_child_of_its_starter(used_home: Path) -> None:
    stop(used_home)
    start(used_home)
    assert pid_of(used_home) not in [child.pid for child in psutil.Process().children(recursive=True)]


def test_stop_ends_every_process_and_says_whether_one_ran(used_home: Path) -> None:
    start(used_home)
    processes = [psutil.Process(pid_of(used_home)), *psutil.Process(pid_of(used_home)).children()]
    assert [stop(used_home), stop(used_home)] == [True, False]
    assert not any(is_alive(process) for process in processes)


def test_status_of_a_stopped_server_names_its_data_folder_alone(used_home: Path) -> None:
    stop(used_home)
    found = status(used_home)
    assert (found.pid, found.version, found.socket_dir, found.data == data_of(used_home)) == (None, "", "", True)


def test_a_home_without_a_server_has_no_status_and_nothing_to_stop(new_home: Path) -> None:
    assert (status(new_home).data, stop(new_home), new_home.exists()) == (None, False, False)


def test_status_of_a_running_server_tells_its_version(used_home: Path) -> None:
    start(used_home)
    assert status(used_home).version.startswith(f"{binaries.MAJOR}.")


def test_what_was_committed_is_there_after_the_postmaster_was_killed(used_home: Path) -> None:
    with psycopg.connect(start(used_home).libpq_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    kill_postmaster(used_home)
    assert ask(used_home, "SELECT number FROM kept") == 7


def test_a_stopped_backend_that_outlived_its_postmaster_does_not_hinder_a_start(used_home: Path) -> None:
    start(used_home)
    orphan = psutil.Process(pid_of(used_home)).children()[0]
    orphan.suspend()
    kill_postmaster(used_home)
    start(used_home)
    assert not is_alive(orphan)


def test_a_server_that_hangs_is_started_anew(used_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SILENCE_SECONDS", 0.1)
    start(used_home)
    hanging = psutil.Process(pid_of(used_home))
    hanging.suspend()
    start(used_home)
    assert not is_alive(hanging)


def test_a_server_whose_socket_was_deleted_is_started_anew(used_home: Path) -> None:
    address = start(used_home)
    (Path(address.host_socket_dir) / ".s.PGSQL.5432").unlink()
    assert ask(used_home, "SELECT 1") == 1


@pytest.mark.parametrize("content", [b"", b"\n", b"no number\n", b"\xff\xfe\x00", b"99999999999999999999\n", b"-1\n"])
def test_a_pid_file_of_garbage_is_replaced(used_home: Path, content: bytes) -> None:
    stop(used_home)
    (data_of(used_home) / "postmaster.pid").write_bytes(content)
    assert ask(used_home, "SELECT 1") == 1


def test_a_live_server_whose_pid_file_was_overwritten_is_replaced_by_one(used_home: Path) -> None:
    start(used_home)
    forgotten = psutil.Process(pid_of(used_home))
    (data_of(used_home) / "postmaster.pid").write_bytes(b"garbage")
    start(used_home)
    assert not is_alive(forgotten)


@pytest.fixture
def innocent(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is called postgres and is none of ours."""
    program = tmp_path / "postgres"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    process = subprocess.Popen([program, "600"])
    yield process
    process.kill()
    process.wait()


def forge_pid_file(home: Path, pid: int) -> None:
    start(home)
    pid_file = data_of(home) / "postmaster.pid"
    lines = pid_file.read_text().split("\n")
    stop(home)
    pid_file.write_text("\n".join([str(pid), *lines[1:]]))
    lock = Path(lines[4]) / ".s.PGSQL.5432.lock"
    lock.write_text("\n".join([str(pid), *lines[1:5]]))


def test_a_pid_that_another_process_has_now_is_not_taken_for_the_server(
    used_home: Path, innocent: subprocess.Popen[bytes]
) -> None:
    forge_pid_file(used_home, innocent.pid)
    assert ask(used_home, "SELECT 1") == 1
    assert innocent.poll() is None


def test_stop_leaves_a_process_alone_that_has_the_pid_of_a_server(
    used_home: Path, innocent: subprocess.Popen[bytes]
) -> None:
    forge_pid_file(used_home, innocent.pid)
    assert stop(used_home) is False
    assert innocent.poll() is None


def test_the_pid_of_a_zombie_is_not_taken_for_the_server(used_home: Path, innocent: subprocess.Popen[bytes]) -> None:
    innocent.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, innocent.pid, os.WEXITED | os.WNOWAIT)
    forge_pid_file(used_home, innocent.pid)
    assert ask(used_home, "SELECT 1") == 1


def test_what_is_in_the_lock_file_does_not_matter(used_home: Path) -> None:
    stop(used_home)
    (used_home / "postgres.lock").write_bytes(b"\x00garbage")
    assert ask(used_home, "SELECT 1") == 1


def test_start_gives_up_when_another_process_keeps_the_lock(used_home: Path) -> None:
    stop(used_home)
    with (used_home / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedServerError, match="Another process is still starting"):
            start(used_home, timeout_seconds=0.1)


def test_a_folder_that_another_container_serves_is_left_alone(used_home: Path) -> None:
    stop(used_home)
    with (data_of(used_home).parent / "in_use.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedServerError, match="in use by a Postgres server that runs elsewhere"):
            start(used_home)


def test_a_data_folder_left_half_made_is_made_again(new_home: Path) -> None:
    start(new_home)
    stop(new_home)
    data = data_of(new_home)
    data.rename(data.with_suffix(".new"))
    (data.with_suffix(".new") / "PG_VERSION").unlink()
    assert ask(new_home, "SELECT 1") == 1


def test_remove_leaves_neither_a_process_nor_data(new_home: Path) -> None:
    start(new_home)
    process, data = psutil.Process(pid_of(new_home)), data_of(new_home)
    remove(new_home)
    assert (is_alive(process), data.exists(), status(new_home).data) == (False, False, None)


@pytest.mark.parametrize("name", ["x" * 150, "a b", "comma,", "quote'\"", "$HOME`id`", "prüfung 東京", "%40?&="])
def test_a_home_of_any_length_and_spelling_works(new_home: Path, name: str) -> None:
    new_home.mkdir(mode=0o711)
    home = new_home / name
    try:
        with psycopg.connect(start(home).libpq_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        remove(home)


def test_the_socket_is_one_that_any_client_can_open(used_home: Path) -> None:
    path = Path(start(used_home).host_socket_dir) / ".s.PGSQL.5432"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
