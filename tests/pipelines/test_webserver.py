"""The UI of a deployment: where it is, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from overstory.errors import SettingsError
from overstory.home import dagster_home
from pipelines import launch
from pipelines.deployment import settings_file
from tests.pipelines.conftest import DATASET, Site

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from pathlib import Path
from pipelines import launch
from pipelines.deployment import read_settings
launch.dev(read_settings(), Path(sys.argv[1]), port=int(sys.argv[2]))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def asked(port: int, query: str) -> Any:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["data"]


def test_port_in_use_is_told_in_one_line(site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        with pytest.raises(SettingsError, match=rf"Port {port} of 127\.0\.0\.1 cannot be used"):
            launch.dev(site.settings, site.home, port=port)


def test_ui_shows_the_build_and_ends_with_ctrl_c(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    built = site.build()
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    port = free_port()
    command = [sys.executable, "-c", SCRIPT, str(site.home), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    data = asked(port, "{ runsOrError { ... on Runs { results { runId } } } }")
    schedules = asked(
        port,
        "{ workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError { "
        "... on RepositoryLocation { repositories { schedules { name scheduleState { status } } } } } } } } }",
    )
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=15)
    assert line.startswith(f"Dagster serves http://127.0.0.1:{port} ")
    assert [run["runId"] for run in data["runsOrError"]["results"]] == [built.run_id]
    assert f"{DATASET}__nightly" in json.dumps(schedules)
    assert "RUNNING" in json.dumps(schedules)
    assert process.returncode == 0
    last = launch.last_run(site.settings, site.home, DATASET, 7)
    assert last == launch.LastRun(built.run_id, "success", f"http://127.0.0.1:{port}/runs/{built.run_id}")
    assert (dagster_home(site.home) / "dagster.yaml").read_text().count("postgresql") == 0
