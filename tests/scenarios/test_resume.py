"""A process that is killed, and the one that goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from overstory.building.document_summaries import summarize_documents
from overstory.building.documents import sync_documents
from overstory.building.leaves import cut_leaves
from overstory.building.memberships import update_memberships
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus
from tests.scenarios.workbench import Workbench

CONCURRENCY = 4


def test_case_18_killed_build_pays_for_the_missing_calls_alone(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = {"leaf_tokens": 64}
    llm_bench.fill(corpus(20, paragraphs=4))
    planned = llm_bench.plan().exact.calls
    llm_server.latency_seconds = 0.02
    enough = planned * 6 // 10
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.scenarios.build_elsewhere"),
            *(str(llm_bench.folder), llm_bench.database_url, json.dumps(llm_bench.settings)),
        ],
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
    )
    llm_server.wait_for(lambda: llm_server.statuses.count(200) >= enough, timeout=60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    answered = llm_server.statuses.count(200)
    llm_server.reset()
    llm_bench.record.close()
    resumed = llm_bench.build()
    paid = resumed.stage("document_summaries").calls
    assert planned - answered <= paid <= planned - answered + CONCURRENCY
    assert resumed.stage("leaves").embedded == 0
    assert resumed.stage("document_summaries").embedded == paid + resumed.stage("document_summaries").remembered


def test_build_that_dies_between_any_two_stages_is_completed_by_the_next(bench: Workbench) -> None:
    bench.fill(corpus(12))
    stages = (sync_documents, cut_leaves, summarize_documents, update_memberships)
    for number in range(1, 5):
        bench.write("music/004.md", f"The concert number {number} costs ${number}00.\n")
        bench.remove("garden/002.md") if number % 2 else bench.write("garden/002.md", "The mulch costs $5.\n")
        for stage in stages[:number]:
            stage(bench.context())
        bench.build()
        assert bench.violations() == []
        assert bench.health().unfresh == {}


def test_version_replaced_before_it_was_cut_leaves_no_text(bench: Workbench) -> None:
    bench.write("a.md", "The first text of Alpha.\n")
    sync_documents(bench.context())
    bench.write("a.md", "The second text of Beta.\n")
    bench.build()
    assert "Alpha" not in bench.texts()
