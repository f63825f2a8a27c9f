"""The shape of the tree: for hardly any documents, for well-separated ones, and the same in every process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import pairwise

import pytest

from overstory.building.document_summaries import summarize_documents
from overstory.building.documents import sync_documents
from overstory.building.leaves import cut_leaves
from overstory.identity import document_id
from overstory.nodes import NodeKind
from tests.llm_server import LLMServer
from tests.scenarios.conftest import MakeRecord
from tests.scenarios.corpora import corpus, document, grouped
from tests.scenarios.workbench import Workbench


@pytest.mark.parametrize(
    ("documents", "clusters"), [(0, 0), (1, 0), (2, 1), (3, 1), (5, 1), (11, 1)], ids=lambda number: str(number)
)
def test_case_25_tiny_corpus_has_at_most_one_cluster(bench: Workbench, documents: int, clusters: int) -> None:
    bench.fill(corpus(documents))
    built = bench.build()
    assert built.problems == []
    assert len(bench.summaries("document_summary")) == documents
    assert len(bench.summaries("cluster_summary")) == clusters


def test_case_25_single_child_is_passed_through_without_a_call(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.write("only.md", "One chunk that costs $5.\n")
    llm_bench.build()
    assert llm_bench.summary("only.md").text == "One chunk that costs $5."
    assert len(llm_server.chats) == 0


def test_case_25_no_documents_is_a_fresh_index(bench: Workbench) -> None:
    bench.build()
    health = bench.health()
    assert (health.documents, health.levels, health.staleness_rate, health.coverage) == (0, (), 0.0, 1.0)


def test_case_25_corpus_that_shrinks_to_one_document_loses_its_cluster(bench: Workbench) -> None:
    bench.fill(corpus(3))
    bench.build()
    bench.remove(*list(corpus(3))[1:])
    bench.build()
    assert bench.summaries("cluster_summary") == []


def test_case_26_separated_documents_make_no_staircase(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["clusters"] = {"target_size": 4, "max_level": 6}
    llm_bench.fill(grouped(30, 1))
    llm_bench.build()
    found = llm_bench.sql("select level, count(*) from cluster group by level order by level")
    sizes = [30, *(count for _, count in found)]
    assert len(found) <= 3
    assert all(2 * above <= below for below, above in pairwise(sizes))
    assert len(llm_server.chats) <= sum(sizes[1:])
    assert sum(count for level, count in found if level > 2) <= 15


def test_case_26_eight_documents_have_one_parent(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["clusters"] = {"max_level": 6}
    llm_bench.fill(grouped(8, 1))
    llm_bench.build()
    assert llm_bench.sql("select level, count(*) from cluster group by level") == [(2, 1)]
    assert len(llm_server.chats) == 1


def test_third_level_stands_over_the_second(bench: Workbench) -> None:
    bench.settings["clusters"] = {"target_size": 4, "max_level": 3}
    bench.fill(grouped(10, 4))
    bench.build()
    levels = {level.level: level.fresh for level in bench.health().levels if level.kind is NodeKind.CLUSTER_SUMMARY}
    assert levels.keys() == {2, 3}
    assert 1 <= levels[3] <= levels[2] // 2


def test_edit_reaches_the_third_level(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["clusters"] = {"target_size": 4, "max_level": 3}
    llm_bench.fill(grouped(10, 4))
    llm_bench.build()
    llm_server.reset()
    llm_bench.write("g3/2.md", grouped(10, 4)["g3/2.md"] + "The new item costs $777.\n")
    built = llm_bench.build()
    clusters = len(llm_bench.memberships())
    assert 0 < built.stage("cluster_summaries").written < clusters / 2
    assert built.stage("cluster_summaries").written == len(llm_server.chats)


def test_third_level_goes_when_the_settings_ask_for_two(bench: Workbench) -> None:
    bench.settings["clusters"] = {"target_size": 4, "max_level": 3}
    bench.fill(grouped(10, 4))
    bench.build()
    bench.settings["clusters"] = {"target_size": 4, "max_level": 2}
    bench.build()
    assert bench.record.clusters.levels("docs") == [2]


def test_case_29_memberships_are_the_same_in_every_process_and_for_any_thread_count(
    bench: Workbench, make_record: MakeRecord
) -> None:
    bench.fill(corpus(60))
    bench.build()
    here = bench.memberships()
    for threads, seed in (("1", "0"), ("8", "4242")):
        other = _build_elsewhere(bench, make_record(), threads, seed)
        assert other == here


def _build_elsewhere(bench: Workbench, url: str, threads: str, seed: str) -> dict[str, list[tuple[str, float]]]:
    """Memberships of the same documents, built by another process into another record."""
    environ = dict(os.environ, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads, PYTHONHASHSEED=seed)
    done = subprocess.run(
        [sys.executable, "-m", "tests.scenarios.build_elsewhere", str(bench.folder), url],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return {cluster: [(member, weight) for member, weight in members] for cluster, members in found.items()}


def test_case_29_memberships_do_not_depend_on_the_order_of_documents(bench: Workbench) -> None:
    bench.fill(corpus(60))
    for path in random.Random(7).sample(list(corpus(60)), 60):
        # One at a time, so that rows, versions and summaries are stored in that order.
        chosen = frozenset({document_id("docs", path)})
        sync_documents(bench.context(only=chosen))
        cut_leaves(bench.context(only=chosen))
        summarize_documents(bench.context(only=chosen))
    bench.build()
    shuffled = bench.memberships()
    bench.run_sql("delete from document")
    bench.run_sql("delete from cluster")
    bench.run_sql("delete from cluster_model")
    bench.run_sql(f"delete from {bench.value('select name from vector_table')}")
    bench.build()
    assert bench.memberships() == shuffled


def test_long_document_beside_short_ones(bench: Workbench) -> None:
    bench.settings["chunking"] = {"leaf_tokens": 128, "section_tokens": 500}
    bench.fill(corpus(5))
    bench.write("long.md", document("travel", 8, paragraphs=30))
    bench.build()
    kinds = {level.kind for level in bench.health().levels}
    assert NodeKind.SECTION_SUMMARY in kinds
