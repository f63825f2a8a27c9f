"""A dataset that is built, planned and looked at from Python, without Dagster."""

from __future__ import annotations

import pytest

from overstory import api
from overstory.errors import BuildLocked, SettingsError
from tests.scenarios.corpora import corpus
from tests.scenarios.workbench import DATASET, Workbench

STAGES = ["documents", "leaves", "document_summaries", "memberships", "cluster_summaries"]


@pytest.fixture
def built(bench: Workbench) -> Workbench:
    """A workbench whose index was built through the Python API."""
    bench.fill(corpus(6))
    api.build(bench.record, bench.dataset)
    return bench


def test_build_runs_the_stages_in_the_order_of_the_assets(bench: Workbench) -> None:
    bench.fill(corpus(6))
    assert [report.stage for report in api.build(bench.record, bench.dataset)] == STAGES


def test_build_makes_every_node_fresh(built: Workbench) -> None:
    health = api.status(built.record, built.dataset)
    assert (health.documents, health.coverage, health.staleness_rate) == (6, 1.0, 0.0)


def test_second_build_of_the_same_files_writes_nothing(built: Workbench) -> None:
    before = built.dump()
    reports = api.build(built.record, built.dataset)
    assert sum(report.total.written for report in reports) == 0
    assert built.dump() == before


def test_build_of_a_chosen_document_leaves_the_others(bench: Workbench) -> None:
    bench.fill({"a.md": "The fee is $40.", "b.md": "The limit is 12 seats."})
    bench.build()
    bench.fill({"a.md": "The fee is $50.", "b.md": "The limit is 15 seats."})
    api.build(bench.record, bench.dataset, documents=["a.md"])
    assert ("$50" in bench.summary("a.md").text, "15" in bench.summary("b.md").text) == (True, False)
    bench.build()


def test_build_of_an_unknown_document_says_which(built: Workbench) -> None:
    with pytest.raises(SettingsError, match=r"no document 'nowhere\.md'"):
        api.build(built.record, built.dataset, documents=["nowhere.md"])


def test_build_is_refused_while_another_holds_the_dataset(built: Workbench) -> None:
    with built.record.lock(DATASET), pytest.raises(BuildLocked, match="Another build of dataset 'docs'"):
        api.build(built.record, built.dataset)


def test_build_gives_the_dataset_back(built: Workbench) -> None:
    with built.record.lock(DATASET):
        pass


def test_build_tells_how_far_each_stage_is(bench: Workbench) -> None:
    bench.fill(corpus(6))
    told: set[str] = set()
    api.build(bench.record, bench.dataset, progress=lambda stage, _done, _total: told.add(stage))
    assert {"documents", "leaves", "document_summaries"} <= told


def test_plan_says_what_a_build_would_do_and_writes_nothing(built: Workbench) -> None:
    built.write("new.md", "The price is $7.")
    before = built.dump()
    assert api.plan(built.record, built.dataset).documents == {"unchanged": 6, "new": 1}
    assert built.dump() == before
    built.build()


def test_plan_after_a_build_has_nothing_to_do(built: Workbench) -> None:
    assert api.plan(built.record, built.dataset).nothing_to_do


def test_calls_of_two_builds_are_told_apart_in_the_ledger(llm_bench: Workbench) -> None:
    for number in range(2):
        llm_bench.write(f"{number}.md", f"Release {number} of the product costs ${number + 40}.\n\n" * 40)
        api.build(llm_bench.record, llm_bench.dataset)
    assert llm_bench.value("select count(distinct run_id) from ledger") == 2
