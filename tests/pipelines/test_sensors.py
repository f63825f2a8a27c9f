"""The sensors: what they ask for, once, and that they change nothing themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import dagster as dg
import pytest

from overstory.identity import document_id
from pipelines.datasets import build_definitions
from pipelines.deployment import settings_file
from pipelines.jobs import CAUSE_TAG, DATASET_TAG, build_changed_name
from pipelines.sensors.asking import CHANGES_TAG, DOCUMENTS_TAG
from tests.llm_behaviors import insufficient_quota
from tests.llm_server import LLMServer
from tests.pipelines.conftest import DATASET, Site, plan
from tests.pipelines.served import serving, wait_for
from tests.pipelines.test_build import use_model

EDITED = {"plans/plan-1.md": plan(1, 99)}


class Ticks:
    """A sensor that is asked as the daemon asks it, and runs what it asks for."""

    def __init__(self, site: Site, instance: dg.DagsterInstance, name: str) -> None:
        self.site, self.instance = site, instance
        self.repository = build_definitions(site.settings).get_repository_def()
        self.sensor = self.repository.get_sensor_def(f"{DATASET}__{name}")
        self.cursor: str | None = None

    def tick(self) -> dg.RunRequest | str:
        """The run that is asked for, or why there is none."""
        context = dg.build_sensor_context(self.instance, self.cursor, repository_def=self.repository)
        data = self.sensor.evaluate_tick(context)
        self.cursor = data.cursor or self.cursor
        assert len(data.run_requests or ()) <= 1
        return data.run_requests[0] if data.run_requests else data.skip_message or ""

    def run(self, request: dg.RunRequest | str) -> None:
        assert isinstance(request, dg.RunRequest)
        job = self.repository.get_job(build_changed_name(DATASET))
        tags = {**request.tags, "dagster/run_key": str(request.run_key)}
        job.execute_in_process(instance=self.instance, tags=tags, raise_on_error=False)


@pytest.fixture
def ticks(site: Site, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Ticks]:
    """Makes the sensor of that name, with the settings as they are by then."""

    def make(name: str) -> Ticks:
        monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
        return Ticks(site, instance, name)

    return make


@pytest.fixture
def source(site: Site, ticks: Callable[[str], Ticks]) -> Ticks:
    """The sensor of a dataset that has been built."""
    site.build()
    return ticks("reupload")


def tags(request: dg.RunRequest | str) -> Mapping[str, str]:
    assert isinstance(request, dg.RunRequest), request
    return request.tags


def test_unchanged_source_asks_for_nothing(source: Ticks) -> None:
    assert [source.tick() for _ in range(3)] == ["Nothing to ask for"] * 3


def test_dataset_that_nobody_has_built_is_not_built_by_itself(ticks: Callable[[str], Ticks]) -> None:
    told = ticks("reupload").tick()
    assert told == "Dataset 'docs' has no documents yet. Launch its first build yourself"


def test_edit_asks_for_a_run_that_names_its_document_and_no_path(source: Ticks, site: Site) -> None:
    site.write(EDITED)
    asked = tags(source.tick())
    assert asked[CAUSE_TAG] == "re-upload"
    assert asked[CHANGES_TAG] == "1 edited"
    assert asked[DOCUMENTS_TAG] == document_id(DATASET, "plans/plan-1.md")


def test_every_kind_of_change_is_counted_in_one_request(source: Ticks, site: Site) -> None:
    site.write({**EDITED, "new.md": "# New\n\nSince 2025-01-01.\n"})
    (site.source / "plans/plan-2.md").rename(site.source / "moved.md")
    (site.source / "plans/plan-3.md").unlink()
    assert sorted(tags(source.tick())[CHANGES_TAG].split(", ")) == ["1 deleted", "1 edited", "1 moved", "1 new"]


def test_run_that_was_asked_for_leaves_nothing_to_ask_for(source: Ticks, site: Site) -> None:
    site.write(EDITED)
    source.run(source.tick())
    assert source.tick() == "Nothing to ask for"


def test_same_state_is_asked_for_once_while_its_run_has_not_been_seen(source: Ticks, site: Site) -> None:
    site.write(EDITED)
    first, second = source.tick(), source.tick()
    assert isinstance(first, dg.RunRequest)
    assert isinstance(second, dg.RunRequest)
    assert first.run_key == second.run_key


def test_edit_that_comes_back_is_asked_for_anew(source: Ticks, site: Site) -> None:
    keys = set()
    for price in (99, 41, 99):
        site.write({"plans/plan-1.md": plan(1, price)})
        request = source.tick()
        source.run(request)
        keys.add(request.run_key if isinstance(request, dg.RunRequest) else None)
    assert len(keys) == 3


def test_touched_file_asks_for_nothing(source: Ticks, site: Site) -> None:
    source.tick()
    (site.source / "plans/plan-1.md").touch()
    assert source.tick() == "Nothing to ask for"


def test_file_that_cannot_be_read_is_asked_for_once(source: Ticks, site: Site) -> None:
    site.write({"broken.pdf": b"\x00\x01\x02 no pdf"})
    source.run(source.tick())
    assert source.tick() == "Nothing to ask for"


def test_preview_keeps_the_record_as_it_was(source: Ticks, site: Site) -> None:
    from overstory import api

    record = api.open_record(site.home)
    before = record.db.rows("select * from document order by id")
    site.write(EDITED)
    source.tick()
    assert record.db.rows("select * from document order by id") == before
    record.close()


def test_lost_cursor_asks_for_nothing(source: Ticks) -> None:
    source.tick()
    source.cursor = "broken"
    assert source.tick() == "Nothing to ask for"


def test_empty_source_withholds_deletions_and_says_so(source: Ticks, site: Site) -> None:
    for path in site.source.rglob("*.md"):
        path.unlink()
    told = source.tick()
    assert isinstance(told, str)
    assert "8 of 8 documents are gone from the source: their deletion is withheld" in told


def test_failed_run_is_not_asked_for_again_at_once(
    site: Site, ticks: Callable[[str], Ticks], llm_server: LLMServer
) -> None:
    use_model(site, llm_server)
    site.build()
    source = ticks("staleness")
    site.write(EDITED)
    llm_server.when(lambda _: True, insufficient_quota())
    source.run(ticks("reupload").tick())
    first = source.tick()
    source.run(first)
    assert tags(first)[CAUSE_TAG] == "staleness"
    assert source.tick() == "Attempt 1 failed; the next one waits"


def test_interrupted_build_is_finished_by_the_staleness_sensor(
    site: Site, ticks: Callable[[str], Ticks], llm_server: LLMServer
) -> None:
    use_model(site, llm_server)
    llm_server.when(lambda call: call.index >= 3, insufficient_quota())
    ticks("reupload").run(dg.RunRequest(run_key="first"))
    paid = llm_server.statuses.count(200)
    llm_server.reset()
    index = ticks("staleness")
    index.run(index.tick())
    assert index.tick() == "Nothing to ask for"
    assert llm_server.statuses.count(200) == 9 - paid


def test_daemon_brings_an_edit_into_the_index(site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    with serving(site):
        site.write(EDITED)
        wanted = dg.RunsFilter(tags={CAUSE_TAG: "re-upload", DATASET_TAG: DATASET})
        wait_for(lambda: [run.status for run in instance.get_runs(wanted)] == [dg.DagsterRunStatus.SUCCESS], 120)
