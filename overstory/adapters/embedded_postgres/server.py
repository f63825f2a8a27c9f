"""Starts, finds and stops the embedded server of a home."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from overstory.adapters.embedded_postgres import launch
from overstory.adapters.embedded_postgres.account import server_account
from overstory.adapters.embedded_postgres.address import DATABASE, ServerAddress
from overstory.adapters.embedded_postgres.layout import Layout, find_layout, lock_path, make_layout
from overstory.adapters.embedded_postgres.locking import PAUSE_SECONDS, locked
from overstory.adapters.embedded_postgres.processes import (
    Postmaster,
    end_servers,
    find_postmaster,
    is_alive,
    servers_of,
)
from overstory.errors import EmbeddedServerError, SettingsError
from overstory.home import create_home

__all__ = ["ServerAddress", "ServerStatus", "connected", "remove", "start", "status", "stop"]

_OTHERS = """
select application_name from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
"""

SILENCE_SECONDS = 5.0
"""How long a live server may say nothing at all, not even that it starts, before it is ended and started anew."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of the server of a home."""

    pid: int | None
    """None if it does not run."""
    data: Path | None
    """Its data folder; None if there never was one."""
    version: str
    """As in ``18.4``; empty if it does not answer."""
    socket_dir: str
    """Empty if it does not run."""
    crashed: bool = False
    """It does not run, and nobody has stopped it."""


def start(home: Path, *, timeout_seconds: float = 60) -> ServerAddress:
    """Make sure that the server of ``home`` runs and has our database; it runs on until ``stop``.

    Any number of processes may call this at once: one starts it, the others wait.

    Raises:
        EmbeddedServerError: It cannot be installed, started or reached, or not within ``timeout_seconds``.
    """
    deadline = time.monotonic() + timeout_seconds
    with _translated(home):
        _refuse_odd(home)
        if address := _answering(find_layout(home)):
            return address
        create_home(home)
        with _locked(home, deadline):
            return _start_locked(home, deadline)


def stop(home: Path, *, timeout_seconds: float = 60) -> bool:
    """End the server of ``home``; False if none ran.

    Raises:
        EmbeddedServerError: It cannot be ended, or another process holds the lock for ``timeout_seconds``.
    """
    with _translated(home):
        if (layout := find_layout(home)) is None:
            return False
        with _locked(home, time.monotonic() + timeout_seconds):
            return _stop_locked(layout)


def status(home: Path) -> ServerStatus:
    """What is known of the server of ``home``; starts and changes nothing.

    Raises:
        EmbeddedServerError: The folder cannot be read.
    """
    with _translated(home):
        layout = find_layout(home)
        postmaster = find_postmaster(layout.data) if layout else None
    data = layout.data if layout else None
    if postmaster is None:
        return ServerStatus(None, data, "", "", crashed=data is not None and (data / "postmaster.pid").exists())
    return ServerStatus(postmaster.pid, data, _version(postmaster), postmaster.socket_dir)


def connected(home: Path) -> tuple[str, ...]:
    """Names of the programs that are connected to our database of ``home``, empty for those that gave none.

    Raises:
        EmbeddedServerError: The folder cannot be read.
    """
    with _translated(home):
        if (address := _answering(find_layout(home))) is None:
            return ()
        with psycopg.connect(address.libpq_url, autocommit=True) as connection:
            return tuple(name for (name,) in connection.execute(_OTHERS))


def remove(home: Path) -> None:
    """End the server of ``home`` and delete its data for good.

    Raises:
        EmbeddedServerError: It cannot be ended or its folder cannot be deleted.
    """
    with _translated(home):
        if (layout := find_layout(home)) is None:
            return
        with _locked(home, time.monotonic() + 60):
            _stop_locked(layout)
            shutil.rmtree(layout.folder, ignore_errors=False)
            if layout.socket.parent != layout.folder:
                shutil.rmtree(layout.socket, ignore_errors=True)
            (home / "postgres").unlink(missing_ok=True)


def _start_locked(home: Path, deadline: float) -> ServerAddress:
    account = server_account(home)
    layout = make_layout(home, account)
    postmaster = find_postmaster(layout.data)
    if postmaster is None or not _wakes(postmaster, deadline):
        end_servers(layout.data)
        postmaster = _await_socket(layout, launch.launch(layout, account), deadline)
    address = ServerAddress(postmaster.socket_dir)
    _await_answer(layout, address, deadline)
    _create_database(address)
    return address


def _stop_locked(layout: Layout) -> bool:
    ran = bool(servers_of(layout.data))
    end_servers(layout.data)
    launch.clear_pid_files(layout)
    return ran


def _answering(layout: Layout | None) -> ServerAddress | None:
    """The address, if the server answers there and our database exists."""
    if layout is None or (postmaster := find_postmaster(layout.data)) is None or not postmaster.socket_dir:
        return None
    address = ServerAddress(postmaster.socket_dir)
    try:
        with psycopg.connect(address.libpq_url, connect_timeout=2):
            return address
    except psycopg.OperationalError:
        return None


def _wakes(postmaster: Postmaster, deadline: float) -> bool:
    """Whether a live server answers, be it to say that it is not ready."""
    address = ServerAddress(postmaster.socket_dir)
    patience = min(deadline, time.monotonic() + SILENCE_SECONDS)
    while postmaster.socket_dir and time.monotonic() < patience:
        if address.ping() is not psycopg.pq.Ping.NO_RESPONSE:
            return True
        time.sleep(PAUSE_SECONDS)
    return False


def _await_socket(layout: Layout, launched: launch.Launched, deadline: float) -> Postmaster:
    while True:
        if (postmaster := find_postmaster(layout.data)) and postmaster.socket_dir:
            return postmaster
        if not is_alive(launched.pid):
            raise launch.launch_failure(layout, launched)
        _pause(layout, deadline)


def _await_answer(layout: Layout, address: ServerAddress, deadline: float) -> None:
    while address.ping() is not psycopg.pq.Ping.OK:
        if find_postmaster(layout.data) is None:
            raise EmbeddedServerError(
                f"The Postgres server of {layout.data} ended while it started", hint=f"{layout.log} says why"
            )
        _pause(layout, deadline)


def _pause(layout: Layout, deadline: float) -> None:
    time.sleep(PAUSE_SECONDS)
    if time.monotonic() > deadline:
        raise EmbeddedServerError(
            f"The Postgres server of {layout.data} is still starting",
            hint=f"Try again in a minute; {layout.log} says what it does",
        )


def _create_database(address: ServerAddress) -> None:
    maintenance = ServerAddress(address.host_socket_dir, database="postgres")
    with psycopg.connect(maintenance.libpq_url, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone() is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")


def _version(postmaster: Postmaster) -> str:
    try:
        with psycopg.connect(ServerAddress(postmaster.socket_dir, "postgres").libpq_url, connect_timeout=2) as found:
            return found.info.parameter_status("server_version") or ""
    except psycopg.OperationalError:
        return ""


def _refuse_odd(home: Path) -> None:
    if "\n" in str(home):
        raise EmbeddedServerError(
            "The path of the home folder has a line break in it, which Postgres cannot keep", hint="Set OVERSTORY_HOME"
        )


@contextmanager
def _locked(home: Path, deadline: float) -> Iterator[None]:
    busy = f"Another process is still starting or stopping the Postgres server of {home}"
    with locked(lock_path(home), deadline, busy=busy) as descriptor:
        Layout(home, home).share(descriptor)
        yield


@contextmanager
def _translated(home: Path) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        raise EmbeddedServerError(error.message, hint=error.hint, **error.attributes) from error
    except psycopg.Error as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        raise EmbeddedServerError(
            f"The Postgres server of {home} cannot be used: {reason}", hint="Run overstory stop and try again"
        ) from error
    except OSError as error:
        raise _system_error(home, error) from error


def _system_error(home: Path, error: OSError) -> EmbeddedServerError:
    folder = home / "postgres"
    if isinstance(error, PermissionError) and os.path.lexists(folder) and folder.lstat().st_uid != os.geteuid():
        return EmbeddedServerError(
            f"The Postgres server of {home} belongs to another user, number {folder.lstat().st_uid}",
            hint="Run as root or as the owner of the home, or set OVERSTORY_HOME to a folder of your own",
        )
    return EmbeddedServerError(
        f"The Postgres server of {home} cannot be used: {error.filename or home}: {error.strerror}",
        hint="Make the folder writable and give it room, or set OVERSTORY_HOME to another one",
        path=error.filename,
    )
