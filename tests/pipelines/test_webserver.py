"""The UI of a deployment: where it is, and how it ends."""

from __future__ import annotations

import json
import socket

import pytest

from overstory.errors import SettingsError
from overstory.home import dagster_home
from pipelines import launch
from tests.pipelines.conftest import DATASET, Site
from tests.pipelines.served import serving

SCHEDULES = """
{ workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError {
    ... on RepositoryLocation { repositories { schedules { name scheduleState { status } } } } } } } } }
"""

PLACE = {"repositoryName": "__repository__", "repositoryLocationName": "pipelines.definitions"}
RUNS_OF_JOB = "query($job: PipelineSelector!) { pipelineOrError(params: $job) { ... on Pipeline { runs { runId } } } }"


def test_port_in_use_is_told_in_one_line(site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        with pytest.raises(SettingsError, match=rf"Port {port} of 127\.0\.0\.1 cannot be used"):
            launch.dev(site.settings, site.home, port=port)


def test_ui_shows_the_build_and_ends_with_ctrl_c(site: Site) -> None:
    built = site.build()
    with serving(site) as ui:
        data = ui.asked("{ runsOrError { ... on Runs { results { runId } } } }")
        of_job = ui.asked(RUNS_OF_JOB, job={**PLACE, "pipelineName": f"{DATASET}__build_changed"})
        schedules = json.dumps(ui.asked(SCHEDULES))
        ui.ended()
    address = f"http://127.0.0.1:{ui.port}"
    assert ui.first_line.startswith(f"Dagster serves {address} ")
    assert [run["runId"] for run in data["runsOrError"]["results"]] == [built.run_id]
    assert of_job["pipelineOrError"]["runs"] == [{"runId": built.run_id}]
    assert f"{DATASET}__nightly" in schedules
    assert "RUNNING" in schedules
    assert ui.process.returncode == 0
    last = launch.last_run(site.settings, site.home, DATASET, 7)
    assert last == launch.LastRun(built.run_id, "success", f"{address}/runs/{built.run_id}")
    assert (dagster_home(site.home) / "dagster.yaml").read_text().count("postgresql") == 0
