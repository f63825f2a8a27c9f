"""``overstory dev`` in a process of its own, and what its GraphQL answers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from overstory.home import dagster_home
from pipelines.deployment import settings_file
from pipelines.webserver import SWITCHED_FILE
from tests.pipelines.conftest import Site

ROOT = Path(__file__).parents[2]
LOCATION = "pipelines.definitions"
REPOSITORY = "__repository__"

_SCRIPT = """
import sys
from pathlib import Path
from pipelines import launch
from pipelines.deployment import read_settings
launch.dev(read_settings(), Path(sys.argv[1]), port=int(sys.argv[2]))
"""
_LAUNCH = """
mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""


@dataclass(slots=True)
class Served:
    """A running UI."""

    process: subprocess.Popen[str]
    port: int
    first_line: str

    def asked(self, query: str, **variables: object) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        address = f"http://127.0.0.1:{self.port}/graphql"
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]

    def launched(self, job: str, *assets: tuple[str, str], tags: dict[str, str] | None = None) -> str:
        """The id of a run that the browser would launch."""
        selector = {
            "repositoryLocationName": LOCATION,
            "repositoryName": REPOSITORY,
            "jobName": job,
            "assetSelection": [{"path": list(asset)} for asset in assets] or None,
        }
        metadata = {"tags": [{"key": key, "value": value} for key, value in (tags or {}).items()]}
        found = self.asked(
            _LAUNCH,
            params={"selector": selector, "mode": "default", "executionMetadata": metadata, "runConfigData": {}},
        )
        return str(found["launchPipelineExecution"]["run"]["runId"])

    def ended(self) -> str:
        """Ctrl-C; what was printed after the first line."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=15)[0]

    def killed(self) -> None:
        """As by a power cut: all its processes at once."""
        processes = [self.process.pid, *(child.pid for child in psutil.Process(self.process.pid).children(True))]
        for process in processes:
            os.kill(process, signal.SIGKILL)
        self.process.communicate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(site: Site, *, off: Collection[str] = ()) -> Iterator[Served]:
    """The UI of a deployment until the block ends.

    Args:
        site: The deployment.
        off: Names of schedules and sensors that somebody has switched off before.
    """
    folder = dagster_home(site.home)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SWITCHED_FILE).write_text("\n".join(off), encoding="utf-8")
    port = free_port()
    environ = {
        **os.environ,
        "OVERSTORY_SETTINGS": str(settings_file(site.settings, site.home)),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", _SCRIPT, str(site.home), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert process.stdout is not None
        yield Served(process, port, process.stdout.readline())
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=15)


def wait_for(condition: Callable[[], bool], timeout: float = 90.0) -> None:
    """Until the condition holds.

    Raises:
        TimeoutError: It never did.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.2)
