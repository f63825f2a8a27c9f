"""Five real commits in a row through the sensor and the run that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from pipelines.deployment import settings_file
from tests.conftest import DatabaseMaker
from tests.pipelines.conftest import Site
from tests.pipelines.test_sensors import Ticks
from tests.scenarios.conftest import empty_record_url
from tests.scenarios.history import lay_out, read_history
from tests.scenarios.replaying import cut_afresh, leaves, outdated, squeeze
from tests.scenarios.workbench import Workbench

__all__ = ["empty_record_url"]

COMMITS = range(82, 87)
"""White space alone; an amount that goes; an edit; three documents that go while others change."""

UNCHANGED = "Nothing to ask for"


@dataclass(frozen=True, slots=True)
class Watched:
    """A deployment whose sensors look at one folder, and a bench over the same record."""

    bench: Workbench
    reupload: Ticks
    staleness: Ticks


@pytest.fixture
def site_of_policies(site: Site, shared_data: Path) -> Site:
    """The policies as they were just before the commits, built for the first time."""
    for path in site.source.rglob("*.md"):
        path.unlink()
    before = next(before for commit, before, _ in read_history(shared_data).trees() if commit.number == COMMITS[0])
    site.write(before)
    site.build()
    return site


@pytest.fixture
def watched(
    site_of_policies: Site, instance: dg.DagsterInstance, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Watched]:
    """The sensors, asked as the daemon asks them."""
    site = site_of_policies
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    bench = Workbench(site.source, database_url)
    yield Watched(bench, Ticks(site, instance, "reupload"), Ticks(site, instance, "staleness"))
    bench.record.close()


def test_commits_arrive_by_the_sensor(
    watched: Watched, shared_data: Path, make_database: DatabaseMaker, empty_record_url: str
) -> None:
    bench = watched.bench
    removed: set[str] = set()
    for commit, _, after in read_history(shared_data).trees():
        removed |= {squeeze(value) for values in commit.removed.values() for value in values}
        if commit.number not in COMMITS:
            continue
        lay_out(bench, after)
        watched.reupload.run(watched.reupload.tick())
        assert (watched.reupload.tick(), watched.staleness.tick()) == (UNCHANGED, UNCHANGED), commit.number
        assert bench.violations() == [], commit.number
        assert list(outdated(bench, after, removed)) == [], commit.number
    fresh = Workbench(bench.folder, make_database(empty_record_url))
    assert leaves(bench) == cut_afresh(fresh)
    fresh.record.close()
    bench.check()
