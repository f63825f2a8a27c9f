"""Data versions move with what they stand for, and with nothing else."""

from __future__ import annotations

import pytest

from overstory.building.shard_states import (
    ShardState,
    cluster_states,
    document_states,
    leaf_states,
    membership_version,
    summary_states,
)
from overstory.identity import shard_of
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import Workbench

SHARDS = range(64)


def versions(bench: Workbench) -> dict[str, dict[int, str]]:
    found = {level: {s: state.version for s, state in of.items()} for level, of in states(bench).items()}
    return found | {"memberships": {0: membership_version(bench.context())}}


def states(bench: Workbench) -> dict[str, dict[int, ShardState]]:
    ctx = bench.context()
    return {
        "documents": document_states(ctx, SHARDS),
        "leaves": leaf_states(ctx, SHARDS),
        "summaries": summary_states(ctx, SHARDS),
        "clusters": cluster_states(ctx, SHARDS),
    }


def behind(bench: Workbench) -> dict[str, int]:
    return {level: sum(state.behind for state in of.values()) for level, of in states(bench).items()}


def moved(before: dict[str, dict[int, str]], after: dict[str, dict[int, str]]) -> dict[str, set[int]]:
    """Shards whose version differs, by level."""
    return {level: {s for s in after[level] if after[level][s] != before[level][s]} for level in after}


def test_edit_moves_the_versions_of_its_shard_alone(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    before = versions(bench)
    bench.write("music/004.md", document("music", 70))
    bench.build()
    shard = shard_of(bench.id_of("music/004.md"))
    changed = moved(before, versions(bench))
    assert (changed["documents"], changed["leaves"], changed["summaries"]) == ({shard}, {shard}, {shard})
    assert len(changed["clusters"]) == 1
    assert changed["memberships"] == set()


def test_build_without_changes_moves_no_version(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    before = versions(bench)
    bench.build()
    assert versions(bench) == before


def test_text_that_comes_back_brings_its_versions_back(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    before = versions(bench)
    bench.write("music/004.md", document("music", 70))
    bench.build()
    bench.fill(corpus(12))
    bench.build()
    assert versions(bench) == before


@pytest.mark.parametrize("level", ["documents", "leaves", "summaries", "clusters"])
def test_every_shard_has_a_version_even_of_an_empty_index(bench: Workbench, level: str) -> None:
    bench.build()
    found = versions(bench)[level]
    assert set(found) == set(SHARDS)
    assert len(set(found.values())) == 1


def test_nothing_is_behind_after_a_build(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    assert behind(bench) == {"documents": 0, "leaves": 0, "summaries": 0, "clusters": 0}


def test_other_lengths_leave_every_summary_of_more_than_one_child_behind(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    bench.settings["summaries"] = {"document_tokens": 150, "cluster_tokens": 150}
    now = behind(bench)
    assert (now["documents"], now["leaves"]) == (0, 0)
    assert now["clusters"] == sum(state.nodes for state in states(bench)["clusters"].values()) > 0
    bench.build()


def test_leaves_of_a_document_that_waits_to_be_cut_are_behind(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    bench.settings["chunking"] = {"leaf_tokens": 64}
    assert behind(bench)["leaves"] == sum(state.nodes for state in states(bench)["leaves"].values()) > 0
    bench.build()


def test_shard_names_its_documents(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    shard = shard_of(bench.id_of("music/004.md"))
    for level in ("documents", "leaves", "summaries"):
        assert bench.id_of("music/004.md") in states(bench)[level][shard].owners
