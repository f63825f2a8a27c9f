"""Data versions move with what they stand for, and with nothing else."""

from __future__ import annotations

import pytest

from overstory.building.data_versions import (
    cluster_versions,
    document_versions,
    leaf_versions,
    membership_version,
    summary_versions,
)
from overstory.identity import shard_of
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import Workbench

SHARDS = range(64)


def versions(bench: Workbench) -> dict[str, dict[int, str]]:
    ctx = bench.context()
    return {
        "documents": document_versions(ctx, SHARDS),
        "leaves": leaf_versions(ctx, SHARDS),
        "summaries": summary_versions(ctx, SHARDS),
        "clusters": cluster_versions(ctx, SHARDS),
        "memberships": {0: membership_version(ctx)},
    }


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
