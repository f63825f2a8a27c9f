"""A build that is ended, or dies: it stops soon, keeps what it paid for, and the next one goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest

from overstory import api
from overstory.building.context import no_progress
from overstory.errors import BuildLocked
from pipelines.deployment import settings_file
from pipelines.partitions import SHARD_KEYS
from pipelines.resources.deployment import Deployment
from tests.llm_behaviors import hangs
from tests.llm_server import LLMServer
from tests.pipelines.conftest import DATASET, Site
from tests.pipelines.test_build import failed_shards, use_model

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from pathlib import Path
from overstory.errors import OverstoryError
from pipelines import launch
from pipelines.deployment import read_settings
try:
    launch.build(read_settings(), "docs", home=Path(sys.argv[1]))
except OverstoryError as error:
    print(error)
    sys.exit(error.exit_status)
"""

StartBuild = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def start_build(site: Site, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> StartBuild:
    """Starts a build in a process of its own, whose third call to the model never ends."""
    use_model(site, llm_server)
    llm_server.when(lambda call: call.index >= 3, hangs())
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, str(site.home)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        llm_server.wait_for(lambda: len(llm_server.chats) >= 5, timeout=120)
        return process

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_build_with_one_line(
    number: signal.Signals, start_build: StartBuild, instance: dg.DagsterInstance
) -> None:
    process = start_build()
    process.send_signal(number)
    output, _ = process.communicate(timeout=10)
    assert (process.returncode, output) == (
        130,
        "The build of dataset 'docs' was interrupted. Build again: it goes on where it stopped\n",
    )
    assert instance.get_runs()[0].status is dg.DagsterRunStatus.CANCELED


def test_interrupted_build_pays_for_no_call_twice(start_build: StartBuild, site: Site, llm_server: LLMServer) -> None:
    process = start_build()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    paid = llm_server.statuses.count(200)
    llm_server.reset()
    site.build()
    assert paid == 3
    assert llm_server.statuses.count(200) == 9 - paid


def test_shards_of_a_killed_build_show_as_failed_after_the_next(
    start_build: StartBuild, site: Site, instance: dg.DagsterInstance
) -> None:
    process = start_build()
    process.kill()
    process.communicate()
    lost = instance.get_runs()[0].run_id
    assert failed_shards(instance, "document_summaries") == set()
    site.build(shards=[5])
    status = instance.get_run_by_id(lost)
    assert status is not None
    assert status.status is dg.DagsterRunStatus.FAILURE
    assert failed_shards(instance, "document_summaries") == set(SHARD_KEYS) - {"05"}


def test_killed_build_pays_for_what_was_in_flight_only(
    start_build: StartBuild, site: Site, llm_server: LLMServer
) -> None:
    process = start_build()
    process.kill()
    process.communicate()
    llm_server.reset()
    site.build()
    assert llm_server.statuses.count(200) <= 9 - 3 + 2


def test_living_build_survives_a_second_one(start_build: StartBuild, site: Site, instance: dg.DagsterInstance) -> None:
    process = start_build()
    running = instance.get_runs()[0].run_id
    with pytest.raises(BuildLocked, match=running):
        site.build()
    assert [(run.run_id, run.status) for run in instance.get_runs()] == [(running, dg.DagsterRunStatus.STARTED)]
    process.kill()
    process.communicate()


def test_build_holds_its_dataset_between_its_stages(site: Site) -> None:
    refused = []

    def try_another(stage: str, _done: int, _total: int) -> None:
        with pytest.raises(BuildLocked):
            site.build()
        refused.append(stage)

    site.build(progress=lambda *told: try_another(*told) if told[0] not in refused else None)
    assert set(refused) >= {"documents", "leaves", "document_summaries", "cluster_summaries"}


def test_run_that_dagster_launched_waits_for_another_build(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    record = api.open_record(site.home)
    told = threading.Event()
    deployment = Deployment()

    def wait() -> str:
        ctx = deployment.building(DATASET, "waiting", no_progress, tell=lambda _: told.set())
        return ctx.name

    with ThreadPoolExecutor(1) as pool:
        with record.lock(DATASET):
            waiting = pool.submit(wait)
            assert told.wait(60)
            assert not waiting.done()
        assert waiting.result(60) == DATASET
    with pytest.raises(BuildLocked, match="waiting"), record.lock(DATASET):
        pass
    deployment.teardown_after_execution(dg.build_init_resource_context())
    with record.lock(DATASET):
        pass
    record.close()
