"""Serves Dagster's UI and daemon for a deployment, until somebody ends it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from overstory.errors import OverstoryError, SettingsError
from overstory.home import log_folder
from overstory.server_marker import refuse_served, serving
from overstory.settings import Settings
from pipelines import instance as instances
from pipelines.database_watch import DatabaseWatch
from pipelines.runs import ADDRESS_FILE

START_SECONDS = 120.0
STOP_SECONDS = 2.5
POLL_SECONDS = 0.25
LOG = "dagster.log"
SWITCHED_FILE = "switched-on"


def _say_nothing(_what: str | None) -> None:
    """Where nobody waits."""


def dev(
    settings: Settings,
    home: Path,
    port: int = 3000,
    host: str = "127.0.0.1",
    *,
    open_browser: bool = False,
    tell: Callable[[str], object] | None = None,
    notice: Callable[[str | None], object] = _say_nothing,
) -> None:
    """Serve the UI and run schedules and sensors until Ctrl-C.

    Args:
        settings: Of the deployment.
        home: Of the deployment; Dagster's log goes to ``logs/dagster.log`` in it.
        port: Of the UI.
        host: The address to listen at.
        open_browser: Show the UI in the browser of the desktop.
        tell: Is given lines: where the UI is, what becomes of the database; standard output by default.
        notice: Is told what is waited for, and None when that is over.

    Raises:
        SettingsError: The port is taken, or another process serves this home.
        OverstoryError: The server ended by itself, or its database was stopped.
    """
    refuse_served(home)
    _refuse_taken(host, port)
    tell = tell or _print
    address = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104
    environ = dict(os.environ)
    folder = instances.prepare(settings, home, environ)
    log = log_folder(home) / LOG
    with (
        suppress(KeyboardInterrupt),
        _interruptible(),
        serving(home, address),
        _processes(folder, environ, host, port, log, notice) as process,
    ):
        _wait_until_served(process, address, log)
        (folder / ADDRESS_FILE).write_text(address, encoding="utf-8")
        switch_on_new(address, folder / SWITCHED_FILE)
        notice(None)
        tell(f"Dagster serves {address} (Ctrl-C ends it; log: {log})")
        if open_browser:
            import webbrowser

            webbrowser.open(address)
        _watch(process, log, DatabaseWatch(home, environ, tell))


def _refuse_taken(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"Port {port} of {host} cannot be used: {error.strerror}", hint="Choose another with --port"
            ) from error


@contextmanager
def _processes(
    folder: Path, environ: dict[str, str], host: str, port: int, log: Path, notice: Callable[[str | None], object]
) -> Iterator[subprocess.Popen[bytes]]:
    """Webserver, daemon and code server in a group of their own, ended together."""
    command = [sys.executable, "-m", "dagster", "dev", "-m", "pipelines.definitions", "-h", host, "-p", str(port)]
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        notice("Ending Dagster")
        _end(process)
        notice(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the group to end, then make it: at once where somebody presses Ctrl-C again."""
    with suppress(ProcessLookupError, KeyboardInterrupt):
        os.killpg(process.pid, signal.SIGINT)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline and _group_lives(process):
            time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _group_lives(process: subprocess.Popen[bytes]) -> bool:
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until_served(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise _ended(log)
        with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{address}/server_info", timeout=2):  # noqa: S310
            return
        time.sleep(POLL_SECONDS)
    raise OverstoryError(f"Dagster did not answer within {START_SECONDS:.0f} seconds", hint=f"See {log}")


def _watch(process: subprocess.Popen[bytes], log: Path, database: DatabaseWatch) -> None:
    """Wait for Ctrl-C or SIGTERM.

    Raises:
        OverstoryError: The server ended by itself, or its database was stopped.
    """
    while True:
        try:
            process.wait(database.pause_seconds)
        except KeyboardInterrupt:
            return
        except subprocess.TimeoutExpired:
            database.look()
        else:
            raise _ended(log)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, and Ctrl-C also where a shell has started this in the background."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(log: Path) -> OverstoryError:
    return OverstoryError("Dagster ended by itself", hint=f"Its log says why: {log}")


_SCHEDULES = """
{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name }
    schedules { name } sensors { name } } } } }
"""
_START_SCHEDULE = """
mutation($s: ScheduleSelector!) { startSchedule(scheduleSelector: $s) { __typename } }
"""
_START_SENSOR = """
mutation($s: SensorSelector!) { startSensor(sensorSelector: $s) { __typename } }
"""


def switch_on_new(address: str, known: Path) -> list[str]:
    """Switch on the schedules and sensors that ``known`` does not name; returns their names.

    What somebody switches off later stays off: each is switched on once.
    """
    seen = set(known.read_text(encoding="utf-8").split()) if known.exists() else set()
    new = []
    for repository in _ask(address, _SCHEDULES)["data"]["repositoriesOrError"].get("nodes", []):
        place = {"repositoryName": repository["name"], "repositoryLocationName": repository["location"]["name"]}
        for kind, mutation in (("schedule", _START_SCHEDULE), ("sensor", _START_SENSOR)):
            for name in {found["name"] for found in repository[f"{kind}s"]} - seen:
                _ask(address, mutation, s={**place, f"{kind}Name": name})
                new.append(name)
    known.write_text("\n".join(sorted(seen | set(new))) + "\n", encoding="utf-8")
    return sorted(new)


def _ask(address: str, query: str, **variables: object) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{address}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
