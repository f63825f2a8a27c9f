"""Makes a data folder and starts a server on it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from overstory.adapters.embedded_postgres.account import Account
from overstory.adapters.embedded_postgres.address import USER
from overstory.adapters.embedded_postgres.binaries import MAJOR, Binaries, find_binaries
from overstory.adapters.embedded_postgres.layout import SOCKET_NAME, Layout, make_private
from overstory.adapters.embedded_postgres.locking import locked
from overstory.adapters.embedded_postgres.state import make_state
from overstory.errors import EmbeddedServerError

SYNC_METHOD = "syncfs" if sys.platform == "linux" else "fsync"
"""How a thousand new files reach the disk: one call for all of them where the system has it."""

INITDB_OPTIONS = (
    f"--username={USER}",
    "--auth=trust",  # Who may enter the socket's folder is the server's user or root.
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--no-instructions",
    f"--sync-method={SYNC_METHOD}",
)

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    "effective_cache_size": "1GB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "recovery_init_sync_method": SYNC_METHOD,
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    # Neither statements nor details: they quote the text of documents, which a purge could not take back.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}

HINTS = {
    "No space left on device": "Make room on the disk, or set OVERSTORY_HOME to a folder on another one",
    "could not look up effective user ID": "Give this user an entry in /etc/passwd, "
    "or set OVERSTORY_DATABASE_URL to a server of yours",
    "annot allocate memory": "Make 300 MB of memory free, or set OVERSTORY_DATABASE_URL to a server of yours",
}
"""What to do about an error, by words in it."""

_ERROR = re.compile(r"FATAL|PANIC|ERROR|error:|could not|cannot|can't|not found|No such file")
_PREFIX = re.compile(r"\A\S+ \S+ UTC \[\d+\] ")

CLAIM_SECONDS = 1.0
"""How long a server that was seen to end may take to let go of its files."""

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only its size is read
PARALLEL_BYTES = 512 * 2**20
"""Parallel index builds take ``maintenance_work_mem`` from shared memory; containers often have 64 MB of it."""

LOG_BYTES = 10 * 2**20
"""A longer log is put aside, in place of the one put aside before."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A server that was started and may still end at once."""

    pid: int
    log_start: int
    """Where its own words begin in the log, in bytes."""


def launch(layout: Layout, account: Account) -> Launched:
    """Start a server on the data folder, made if there is none; returns before the server answers.

    Raises:
        EmbeddedServerError: The data is another version's, or the folder cannot be made.
        OSError: A program cannot be run or a file not be written.
    """
    binaries = find_binaries(account)
    with _claimed(layout, account) as claim:
        _own_all(layout.folder, account)
        _make_data(layout, account, binaries)
        clear_pid_files(layout)
        _make_socket_folder(layout, account)
        return _run_detached(layout, account, binaries, claim)


def _own_all(folder: Path, account: Account) -> None:
    """Hand files to the server's user that belong to another: a container's user may have another number."""
    if not account.foreign or folder.stat().st_uid == account.uid:
        return
    account.give(folder)
    for path in folder.rglob("*"):
        account.give(path)


def _make_socket_folder(layout: Layout, account: Account) -> None:
    if layout.socket.parent != layout.folder:
        if account.foreign:
            make_state()
        else:
            make_private(layout.socket.parent, account)
    make_private(layout.socket, account)


def _make_data(layout: Layout, account: Account, binaries: Binaries) -> None:
    if layout.data.exists():
        _check_version(layout.data)
        return
    if layout.unfinished.exists():
        shutil.rmtree(layout.unfinished)
    made = account.run([binaries.initdb, *INITDB_OPTIONS, "-D", layout.unfinished])
    if made.returncode != 0:
        raise _initdb_failure(layout, made.stderr)
    layout.unfinished.rename(layout.data)


def _check_version(data: Path) -> None:
    marker = data / "PG_VERSION"
    found = marker.read_text(encoding="utf-8", errors="replace").strip() if marker.exists() else ""
    if found == MAJOR:
        return
    what = f"was made by Postgres {found}" if found.isdecimal() else "is not a data folder of Postgres"
    raise EmbeddedServerError(
        f"{data} {what}, and this is Postgres {MAJOR}",
        hint="Move it away to start anew, or bring it up with pg_upgrade",
        data=data,
    )


def clear_pid_files(layout: Layout) -> None:
    """Remove what a server that is gone left behind; only when none of its processes is left."""
    (layout.data / "postmaster.pid").unlink(missing_ok=True)
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (layout.socket / name).unlink(missing_ok=True)


def _run_detached(layout: Layout, account: Account, binaries: Binaries, claim: int) -> Launched:
    settings = {**SETTINGS, **_parallel_settings(), "unix_socket_directories": str(layout.socket)}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with _open_log(layout) as log:
        log_start = log.tell()
        # The shell ends at once, so the server is nobody's child: it outlives us and leaves no zombie with us.
        shell = account.run(
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", binaries.postgres, "-D", layout.data, *options],
            stderr=log,
            keep_open=(claim,),
        )
    return Launched(int(shell.stdout), log_start)


@contextmanager
def _claimed(layout: Layout, account: Account) -> Iterator[int]:
    """An open file whose lock lasts as long as any process that inherits it.

    It tells of servers that no process table here shows: those of another container with the same folder.
    """
    busy = f"{layout.data} is in use by a Postgres server that runs elsewhere, as in another container"
    claim = layout.folder / "in_use.lock"
    with locked(claim, time.monotonic() + CLAIM_SECONDS, busy=busy) as descriptor:
        account.give(claim)
        yield descriptor


def _parallel_settings() -> dict[str, str]:
    memory = shutil.disk_usage(SHARED_MEMORY).total if SHARED_MEMORY.is_dir() else PARALLEL_BYTES
    if memory >= PARALLEL_BYTES:
        return {}
    return {"max_parallel_maintenance_workers": "0", "max_parallel_workers_per_gather": "0"}


def _open_log(layout: Layout) -> BinaryIO:
    if layout.log.exists() and layout.log.stat().st_size > LOG_BYTES:
        layout.log.rename(layout.log.with_suffix(".log.1"))
    # Only ours to read and never through a link: root writes it into a folder that may be another user's.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    log = os.fdopen(os.open(layout.log, flags, 0o600), "ab")
    layout.share(log.fileno())
    log.seek(0, os.SEEK_END)
    return log


def launch_failure(layout: Layout, launched: Launched) -> EmbeddedServerError:
    """Why the server that was launched ended at once, in the last words that it left."""
    with layout.log.open("rb") as log:
        log.seek(launched.log_start)
        said = log.read().decode("utf-8", "replace")
    return EmbeddedServerError(
        f"The Postgres server of {layout.data} ended while it started: {_last_words(said)}",
        hint=_hint(said) or f"{layout.log} says more",
        log=layout.log,
    )


def _initdb_failure(layout: Layout, said: str) -> EmbeddedServerError:
    shutil.rmtree(layout.unfinished, ignore_errors=True)
    return EmbeddedServerError(
        f"No data folder for Postgres can be made in {layout.folder}: {_last_words(said)}",
        hint=_hint(said) or "Set OVERSTORY_HOME to another folder, or OVERSTORY_DATABASE_URL to a server of yours",
    )


def _last_words(said: str) -> str:
    """The first line that tells of an error, without its time stamp; else the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.search(line)]
    chosen = (errors or lines[-1:] or ["it left no message"])[0]
    return _PREFIX.sub("", chosen)


def _hint(said: str) -> str:
    return next((hint for sign, hint in HINTS.items() if sign in said), "")
