"""Which processes serve a data folder, judged by what the system says of them and not by a pid file."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from overstory.adapters.embedded_postgres.locking import PAUSE_SECONDS
from overstory.errors import EmbeddedServerError

ENDINGS = ((signal.SIGINT, 15.0), (signal.SIGQUIT, 3.0), (signal.SIGKILL, 5.0))
"""Ways to end a server, gentlest first, with the seconds that each may take: fast, immediate, by force."""

ORPHAN_SECONDS = 1.0
"""How long processes without a postmaster may take to notice that it is gone."""


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A running server."""

    pid: int
    socket_dir: str
    """Empty while it starts."""


def find_postmaster(data: Path) -> Postmaster | None:
    """The server of ``data`` that its pid file names, if that is a live Postgres which serves ``data``.

    A file that is missing, cut short or garbage, and a pid that is a zombie's, another program's or another
    server's all give None.
    """
    lines = _read_lines(data / "postmaster.pid")
    if not lines or not lines[0].strip().isdecimal():
        return None
    pid = int(lines[0])
    if not _serves(pid, data):
        return None
    return Postmaster(pid, lines[4].strip() if len(lines) > 4 else "")


def _read_lines(pid_file: Path) -> list[str]:
    try:
        return pid_file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except FileNotFoundError:
        return []


def _serves(pid: int, data: Path) -> bool:
    try:
        return _is_server_of(psutil.Process(pid), data)
    except (psutil.Error, ValueError, OverflowError):
        return False


def _is_server_of(process: psutil.Process, data: Path) -> bool:
    # Every process of a server works in its data folder; a zombie works nowhere.
    try:
        return process.name() == "postgres" and is_alive(process) and process.cwd() == str(data)
    except psutil.Error:
        return False


def is_alive(process: psutil.Process | int) -> bool:
    """Whether a process, or the process of this number, still runs; a zombie does not."""
    try:
        process = psutil.Process(process) if isinstance(process, int) else process
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def servers_of(data: Path) -> list[psutil.Process]:
    """All live processes of the server of ``data``, those without a postmaster included."""
    named = (p for p in psutil.process_iter(["name"]) if p.info["name"] == "postgres")
    return [process for process in named if _is_server_of(process, data)]


def end_servers(data: Path) -> None:
    """End every process that serves ``data`` and wait until none is left.

    Backends that outlived their postmaster hold its shared memory, and no server starts until they are gone.

    Raises:
        EmbeddedServerError: A process cannot be ended.
    """
    for ending, limit in ENDINGS:
        left, seconds = servers_of(data), limit
        if ending is not signal.SIGINT:
            _send(left, ending)
        elif postmasters := [process for process in left if not _is_backend(process)]:
            _send(postmasters, ending)
        else:
            seconds = ORPHAN_SECONDS
        if _gone_within(seconds, left):
            return
    raise EmbeddedServerError(
        f"The Postgres server of {data} cannot be ended", hint=f"End process {servers_of(data)[0].pid} by hand"
    )


def _is_backend(process: psutil.Process) -> bool:
    # Backends and background workers write what they do into their command line.
    try:
        return "".join(process.cmdline()[:1]).startswith("postgres:")
    except psutil.Error:
        return True


def _send(processes: list[psutil.Process], ending: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(ending)
            process.send_signal(signal.SIGCONT)  # One that is stopped would not see the other signal.
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied as error:
            raise EmbeddedServerError(
                f"Process {process.pid} belongs to another user, who started this Postgres server",
                hint="Stop it as that user",
                pid=process.pid,
            ) from error


def _gone_within(seconds: float, processes: list[psutil.Process]) -> bool:
    deadline = time.monotonic() + seconds
    while any(is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True
