"""Which ``overstory dev`` serves a home: a file that names it, locked for as long as it does."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from overstory.errors import SettingsError
from overstory.home import dagster_home

FILE = "dev.lock"
PATIENCE_SECONDS = 1.0
"""Somebody who only looks holds the lock for an instant."""


@dataclass(frozen=True, slots=True)
class Server:
    """A process that serves a home."""

    pid: int
    address: str


@contextmanager
def serving(home: Path, address: str) -> Iterator[None]:
    """Say for the length of the block that this process serves ``home``, whose folders exist.

    Raises:
        SettingsError: Another process does.
    """
    with (dagster_home(home) / FILE).open("a+", encoding="utf-8") as file:
        if os.geteuid() == 0:
            # Root may serve a user's home: the user has to be able to go on.
            os.fchown(file.fileno(), home.stat().st_uid, home.stat().st_gid)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _locked(file.fileno(), fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise _served(server_of(home))
            time.sleep(0.02)
        file.truncate(0)
        file.write(json.dumps(asdict(Server(os.getpid(), address))))
        file.flush()
        yield


def server_of(home: Path) -> Server | None:
    """The process that serves ``home``; None if there is none, whatever the file says."""
    try:
        with (dagster_home(home) / FILE).open(encoding="utf-8") as file:
            if _locked(file.fileno(), fcntl.LOCK_SH):
                return None
            return Server(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def refuse_served(home: Path) -> None:
    """Make sure that no process serves ``home`` yet.

    Raises:
        SettingsError: One does.
    """
    if (server := server_of(home)) is not None:
        raise _served(server)


def _served(server: Server | None) -> SettingsError:
    who = f" (pid {server.pid}) at {server.address}" if server else ""
    return SettingsError(f"Another overstory dev serves this home{who}", hint="Open that page, or end it first")


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
