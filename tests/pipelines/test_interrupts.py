"""A build that is ended, or dies: it stops soon, keeps what it paid for, and the next one goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from pipelines.deployment import settings_file
from pipelines.partitions import SHARD_KEYS
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
    assert instance.get_runs()[0].status in (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.FAILURE)


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


def test_run_over_a_dataset_that_is_built_elsewhere_waits(site: Site) -> None:
    from overstory import api
    from pipelines.failures import told_in_one_line

    record = api.open_record(site.home)
    with record.lock(DATASET), pytest.raises(dg.RetryRequested), told_in_one_line(), record.lock(DATASET):
        pass
    record.close()
