"""What a change of the documents or the settings costs, and what it leaves behind."""

from __future__ import annotations

from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import Workbench


def test_build_without_changes_does_nothing(bench: Workbench) -> None:
    bench.fill(corpus(12))
    first = bench.build()
    assert first.stage("document_summaries").written == 12
    bench.check_rebuild()


def test_edit_of_one_document_rebuilds_one_summary_and_its_clusters(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.fill(corpus(40, paragraphs=12))
    llm_bench.build()
    llm_server.reset()
    llm_bench.write("garden/002.md", document("garden", 2, paragraphs=11) + "\nThe new mulch costs $77.\n")
    edited = llm_bench.build()
    owners = [c for c, members in llm_bench.memberships().items() if llm_bench.id_of("garden/002.md") in dict(members)]
    assert edited.stage("document_summaries").written == 1
    assert edited.stage("cluster_summaries").written == len(owners)
    assert len(llm_server.chats) == 1 + len(owners)
