"""What stands at a materialization: pictures that are small, the same each time, and drawn from counts alone."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

import dagster as dg
import pytest

from overstory.building.report import StageReport, Tally
from overstory.building.shard_states import ShardState
from overstory.identity import document_id, shard_key, shard_of
from pipelines import plots, reporting
from tests.pipelines.conftest import DATASET, Site
from tests.pipelines.test_build import SHARDED, materialization, whole

MOST_BYTES = 6_000
STATES = {"fresh": 7, "stale": 2, "missing": 1, "failed": 1, "orphaned": 1}


def pictures() -> list[str]:
    rows = {
        name: STATES for name in ("leaf", "chunk summary", "section summary", "document summary", "cluster summary")
    }
    made = [
        plots.stacked_bars(rows),
        plots.histogram(range(1, 400), "members of a cluster", "clusters"),
        plots.histogram([5.0 * n for n in range(21)], "% of facts", "documents", [5.0 * n for n in range(21)]),
    ]
    return [str(picture.value) for picture in made]


def svg(markdown: str) -> ElementTree.Element:
    return ElementTree.fromstring(base64.b64decode(markdown.split("base64,")[1].rstrip(")")))


@pytest.mark.parametrize("place", range(3))
def test_a_picture_stays_under_six_kilobytes(place: int) -> None:
    assert len(pictures()[place]) < MOST_BYTES


def test_the_same_state_gives_the_same_picture() -> None:
    assert pictures() == pictures()


def test_every_value_of_a_histogram_is_drawn_once() -> None:
    bars = [e for e in svg(str(plots.histogram([3, 3, 4], "x", "y").value)) if e.get("fill") == plots.COLORS["fresh"]]

    assert [float(bar.get("height", 0)) for bar in bars] == [plots.PLOT_HEIGHT, plots.PLOT_HEIGHT / 2]


def test_the_parts_of_a_bar_fill_its_row() -> None:
    bars = [e for e in svg(str(plots.stacked_bars({"leaf": STATES}).value)) if e.get("height") == "16.0"]

    assert sum(float(bar.get("width", 0)) for bar in bars) == pytest.approx(plots.RIGHT - plots.LEFT, abs=0.5)


NUMBERS = {
    "seconds": float,
    "nodes written": int,
    "nodes unchanged": int,
    "nodes deleted": int,
    "nodes failed": int,
    "answers remembered": int,
    "texts embedded": int,
    "calls": int,
    "tokens in": int,
    "tokens out": int,
    "USD": float,
    "seconds of calls": float,
}


@pytest.mark.parametrize("calls", [0, 3])
def test_a_stage_tells_the_same_numbers_with_and_without_calls(calls: int) -> None:
    report = StageReport("leaves")
    report.shards[1] = Tally(calls=calls)

    told = reporting.overview(report)

    numeric = (dg.IntMetadataValue, dg.FloatMetadataValue)
    assert {name: type(v.value) for name, v in told.items() if isinstance(v, numeric)} == NUMBERS


def test_a_shard_without_calls_keeps_no_zeros_of_them() -> None:
    assert "calls" not in reporting.counts(Tally(written=1))


SHARD_NUMBERS = (
    "nodes written",
    "nodes unchanged",
    "nodes deleted",
    "nodes failed",
    "nodes",
    "staleness rate",
    "seconds",
)


@pytest.mark.parametrize("level", SHARDED)
def test_every_shard_shows_its_numbers(level: str, site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    shown = materialization(instance, level, "05").metadata
    assert {name: type(shown[name].value) for name in SHARD_NUMBERS} == {
        name: float if name in ("staleness rate", "seconds") else int for name in SHARD_NUMBERS
    }


@pytest.mark.parametrize("level", ["documents", "leaves", "document_summaries"])
def test_shard_lists_its_documents(level: str, site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    document = document_id(DATASET, "plans/plan-2.md")
    shown = materialization(instance, level, shard_key(shard_of(document))).metadata
    assert shown["documents"].value == 1
    assert document in str(shown["ids"].value)


def test_shard_lists_no_more_ids_than_fit() -> None:
    state = ShardState(owners=[f"{n:032}" for n in range(200)])
    listed = str(reporting.owners("documents", state)["ids"].value)
    assert listed.count("- `") == reporting.LISTED_OWNERS
    assert f"and {200 - reporting.LISTED_OWNERS} more" in listed


@pytest.mark.parametrize(
    ("level", "picture"),
    [
        ("leaves", "leaf sizes"),
        ("document_summaries", "facts kept"),
        ("memberships", "cluster sizes"),
        ("cluster_summaries", "facts kept"),
        ("index_health", "picture"),
    ],
)
def test_level_shows_a_picture(level: str, picture: str, site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    assert svg(str(whole(instance, level)[picture])).tag.endswith("svg")


def test_index_health_shows_drift(site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    shown = whole(instance, "index_health")
    drift = [shown[name] for name in ("misplaced", "turnover", "re-clustering is worth proposing")]
    assert drift == [0.0, 0.0, False]


def test_dagster_keeps_no_text_and_no_path_of_a_document(site: Site, instance: dg.DagsterInstance) -> None:
    from overstory import api

    site.write({"secret-name.md": "# Zanzibar\n\nThe quarterly fee is $1,234 since 2025-02-01.\n"})
    site.build()
    site.build(documents=["secret-name.md"])
    record = api.open_record(site.home)
    tables = [name for (name,) in record.db.rows("select tablename from pg_tables where schemaname = 'dagster'")]
    words = ("secret-name", "Zanzibar", "quarterly fee", "1,234")
    found = {
        (table, word)
        for table in tables
        for word in words
        if record.db.rows(f"select 1 from dagster.{table} t where t::text like :word limit 1", word=f"%{word}%")
    }
    record.close()
    assert "event_logs" in tables
    assert found == set()
