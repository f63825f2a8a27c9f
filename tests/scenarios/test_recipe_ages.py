"""Another prompt, model or length makes summaries stale: from when a build first asked for it, not from their edit."""

from __future__ import annotations

from datetime import datetime

import pytest

from overstory.building.document_summaries import summarize_documents
from tests.scenarios.workbench import Workbench

LONGER = {"document_tokens": 260}


@pytest.fixture
def old(bench: Workbench) -> Workbench:
    """A fresh index of documents that nobody has edited for nine days."""
    bench.fill({f"{n}.md": _several_leaves(n) for n in range(3)})
    bench.build()
    bench.run_sql("update document_version set current_at = current_at - interval '9 days'")
    bench.run_sql("update summary set made_at = made_at - interval '9 days'")
    bench.run_sql("update recipe_seen set first_seen = first_seen - interval '8 days'")
    return bench


def ask_for_longer(bench: Workbench) -> None:
    """Change the settings, and let a build come as far as seeing them: it makes nothing."""
    bench.settings["summaries"] = LONGER
    summarize_documents(bench.context(only=frozenset()))


def seen(bench: Workbench) -> datetime:
    """When the recipe of document summaries was first asked for."""
    found: datetime = bench.value("select first_seen from recipe_seen where kind = 'document_summary'")
    return found


def test_summary_of_a_former_recipe_is_as_old_as_the_first_build_that_asked_for_the_new_one(old: Workbench) -> None:
    ask_for_longer(old)
    assert old.health().stale_since == seen(old)
    old.build()


def test_later_builds_that_ask_for_the_same_recipe_do_not_make_it_younger(old: Workbench) -> None:
    ask_for_longer(old)
    old.run_sql("update recipe_seen set first_seen = first_seen - interval '2 days'")
    since = seen(old)
    summarize_documents(old.context(only=frozenset()))
    assert old.health().stale_since == since
    old.build()


def test_recipe_that_no_build_has_asked_for_has_no_age(old: Workbench) -> None:
    old.settings["summaries"] = LONGER
    health = old.health()
    assert (health.staleness_rate > 0, health.stale_since) == (True, None)
    old.build()


def test_recipe_that_comes_back_counts_from_its_return(old: Workbench) -> None:
    first = seen(old)
    ask_for_longer(old)
    del old.settings["summaries"]
    summarize_documents(old.context(only=frozenset()))
    assert seen(old) > first


def test_edit_that_waits_beside_a_new_recipe_keeps_its_own_age(old: Workbench) -> None:
    ask_for_longer(old)
    edited = old.record.summaries.trees(old.dataset.name)[0]
    old.record.summaries.purge([edited.document_id])
    current = old.value(
        "select v.current_at from document d join document_version v on v.id = d.current_version "
        "where d.id = cast(:id as uuid)",
        id=edited.document_id,
    )
    assert old.health().stale_since == current
    old.build()


def test_build_of_another_recipe_leaves_nothing_stale(old: Workbench) -> None:
    old.settings["summaries"] = LONGER
    old.build()
    assert old.health().stale_since is None


def test_record_without_the_dataset_notes_no_recipe(loose_bench: Workbench) -> None:
    summarize_documents(loose_bench.context())
    assert loose_bench.sql("select * from recipe_seen") == []


def _several_leaves(number: int) -> str:
    """A text that no single leaf holds: a summary of one leaf is passed through, whatever the recipe."""
    lines = (
        f"On {day} March 2025 plan {number} got limit {day * 7 + number} and price ${day * 11}." for day in range(1, 29)
    )
    return "\n\n".join(lines)
