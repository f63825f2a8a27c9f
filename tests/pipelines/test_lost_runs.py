"""A run whose process is gone is found, by the next build and by the daemon; one that lives is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from pipelines.deployment import settings_file
from pipelines.jobs import ALL_SHARDS, CAUSE_TAG, DATASET_TAG, PROCESS_TAG, build_changed_name
from pipelines.lost_runs import GONE, GRACE, is_lost
from tests.llm_behaviors import hangs
from tests.llm_server import LLMServer
from tests.pipelines.conftest import DATASET, Site
from tests.pipelines.served import serving, wait_for
from tests.pipelines.test_build import use_model
from tests.pipelines.test_sensors import Ticks

STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def started(**tags: str) -> dg.RunRecord:
    run = dg.DagsterRun("job", "one", tags=tags, status=dg.DagsterRunStatus.STARTED)
    return dg.RunRecord(1, run, STARTED, STARTED)


def test_run_whose_process_holds_its_lock_lives() -> None:
    assert not is_lost(started(), {"one"}, STARTED + timedelta(days=1))


def test_run_that_held_its_lock_and_lost_it_is_lost_at_once() -> None:
    assert is_lost(started(**{PROCESS_TAG: "7"}), {"another"}, STARTED)


def test_run_may_take_its_time_to_the_first_step() -> None:
    assert not is_lost(started(), set(), STARTED + GRACE)


def test_run_that_never_took_its_lock_is_lost_after_that_time() -> None:
    assert is_lost(started(), set(), STARTED + GRACE + timedelta(seconds=1))


def test_build_killed_before_its_run_had_started_is_settled_by_the_next(
    site: Site, instance: dg.DagsterInstance
) -> None:
    tags = {DATASET_TAG: DATASET, PROCESS_TAG: "7"}
    lost = instance.add_run(dg.DagsterRun("job", tags=tags, status=dg.DagsterRunStatus.NOT_STARTED))
    site.build()
    assert _status(instance, lost.run_id) is dg.DagsterRunStatus.FAILURE


def test_sensors_do_not_wait_for_a_lost_run(
    site: Site, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    site.build()
    tags = {DATASET_TAG: DATASET, PROCESS_TAG: "7"}
    instance.add_run(dg.DagsterRun("job", tags=tags, status=dg.DagsterRunStatus.NOT_STARTED))
    assert Ticks(site, instance, "reupload").tick() == "Nothing to ask for"


def test_daemon_of_the_next_start_marks_a_killed_run_as_failed(
    site: Site, instance: dg.DagsterInstance, llm_server: LLMServer
) -> None:
    use_model(site, llm_server)
    llm_server.when(lambda call: call.index >= 1, hangs())
    with serving(site) as ui:
        run_id = ui.launched(build_changed_name(DATASET), tags=ALL_SHARDS)
        llm_server.wait_for(lambda: len(llm_server.chats) >= 2, timeout=120)
        ui.killed()
    assert _status(instance, run_id) is dg.DagsterRunStatus.STARTED
    with serving(site):
        wait_for(lambda: _status(instance, run_id) is dg.DagsterRunStatus.FAILURE)
    ends = instance.all_logs(run_id, of_type=dg.DagsterEventType.RUN_FAILURE)
    assert [GONE in (end.get_dagster_event().message or "") for end in ends] == [True]


def test_run_from_the_page_of_an_asset_carries_the_tags_of_its_dataset(
    site: Site, instance: dg.DagsterInstance
) -> None:
    site.build()
    with serving(site) as ui:
        run_id = ui.launched("__ASSET_JOB", (DATASET, "memberships"))
        wait_for(lambda: _status(instance, run_id) is dg.DagsterRunStatus.SUCCESS)
    tags = _tags(instance, run_id)
    assert (tags[DATASET_TAG], tags[CAUSE_TAG]) == (DATASET, "manual")


def _tags(instance: dg.DagsterInstance, run_id: str) -> Mapping[str, str]:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.tags


def _status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus | None:
    run = instance.get_run_by_id(run_id)
    return run.status if run else None
