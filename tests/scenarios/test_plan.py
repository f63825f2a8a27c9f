"""A plan says beforehand what the build then does, and does nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from overstory.planning import Plan
from tests import llm_behaviors as behaviors
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document
from tests.scenarios.planned import obedient
from tests.scenarios.workbench import Built, Workbench

SECTIONED = {"leaf_tokens": 128, "section_tokens": 600}
"""Of a corpus's documents the longest ones get sections."""


def documents() -> Mapping[str, str]:
    """Documents of one leaf, of several, and of several sections."""
    found = dict(corpus(8, paragraphs=10))
    found["short.md"] = document("music", 60)
    found["long.md"] = document("travel", 61, paragraphs=40)
    return found


@pytest.fixture
def planned_bench(llm_bench: Workbench, llm_server: LLMServer) -> Workbench:
    """An index by a model that writes as much as it is asked for."""
    llm_bench.settings["chunking"] = SECTIONED
    llm_bench.fill(documents())
    llm_server.default = obedient
    return llm_bench


def agree(plan: Plan, built: Built, server: LLMServer) -> None:
    """Calls up to document summaries are equal, tokens within a tenth, and clusters within their bounds."""
    tally = built.stage("document_summaries")
    clusters = built.stage("cluster_summaries")
    exact = plan.exact
    assert exact.calls == tally.calls
    assert exact.tokens_in == pytest.approx(tally.tokens_in, rel=0.1)
    assert exact.tokens_out == pytest.approx(tally.tokens_out, rel=0.1)
    assert exact.usd == pytest.approx(tally.usd, rel=0.1)
    assert plan.clusters.least.calls <= clusters.calls <= plan.clusters.most.calls
    assert len(server.chats) == tally.calls + clusters.calls


def test_case_48_first_build_costs_what_was_planned(planned_bench: Workbench, llm_server: LLMServer) -> None:
    plan = planned_bench.plan()
    built = planned_bench.build()
    assert plan.documents == {"new": 10}
    assert plan.exact.calls > 10
    agree(plan, built, llm_server)


CHANGES: dict[str, tuple[Callable[[Workbench], object], dict[str, int], int]] = {
    "one edit": (
        lambda b: b.write("music/004.md", document("music", 90, paragraphs=10)),
        {"unchanged": 9, "edited": 1},
        1,
    ),
    "one edit of a section": (
        lambda b: b.write("long.md", documents()["long.md"].replace("$3257", "$3258")),
        {"unchanged": 9, "edited": 1},
        2,
    ),
    "one add": (lambda b: b.write("new.md", document("music", 91, paragraphs=10)), {"unchanged": 10, "new": 1}, 1),
    "one delete": (lambda b: b.remove("music/004.md"), {"unchanged": 9, "deleted": 1}, 0),
    "one move": (
        lambda b: (b.folder / "music/004.md").rename(b.folder / "moved.md"),
        {"unchanged": 9, "moved": 1},
        0,
    ),
    "new prompt": (
        lambda b: b.settings["summarizer"].update(prompt="Shorten to about {target_tokens} tokens.\n{material}"),
        {"unchanged": 10},
        12,
    ),
    "new model": (lambda b: b.settings["summarizer"].update(model="another"), {"unchanged": 10}, 12),
    "new chunks": (
        lambda b: b.settings["chunking"].update(leaf_tokens=96),
        {"unchanged": 10},
        12,
    ),
    "nothing": (lambda b: None, {"unchanged": 10}, 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_case_48_change_costs_what_was_planned(planned_bench: Workbench, llm_server: LLMServer, change: str) -> None:
    make, expected, calls = CHANGES[change]
    planned_bench.build()
    llm_server.reset()
    llm_server.default = obedient
    make(planned_bench)
    plan = planned_bench.plan()
    built = planned_bench.build()
    assert plan.documents == expected
    assert plan.exact.calls == calls
    agree(plan, built, llm_server)


def test_case_48_revert_is_planned_and_done_for_nothing(planned_bench: Workbench, llm_server: LLMServer) -> None:
    planned_bench.build()
    planned_bench.write("long.md", document("travel", 99, paragraphs=40))
    planned_bench.write("music/004.md", document("music", 90, paragraphs=10))
    planned_bench.build()
    planned_bench.fill(documents())
    llm_server.reset()
    llm_server.default = obedient
    plan = planned_bench.plan()
    built = planned_bench.build()
    assert plan.documents == {"edited": 2, "unchanged": 8}
    assert (plan.exact.calls, built.total.calls, len(llm_server.chats)) == (0, 0, 0)


def test_plan_of_a_fresh_index_has_nothing_to_do(planned_bench: Workbench) -> None:
    planned_bench.build()
    plan = planned_bench.plan()
    assert plan.nothing_to_do
    assert (plan.expected.calls, plan.embeddings) == (0, {})


@pytest.mark.parametrize("built", [False, True], ids=["before the first build", "after an edit"])
def test_plan_writes_nothing(planned_bench: Workbench, llm_server: LLMServer, built: bool) -> None:
    if built:
        planned_bench.build()
        planned_bench.write("long.md", document("travel", 99, paragraphs=40))
        planned_bench.remove("short.md")
    before, calls = planned_bench.dump(), len(llm_server.chats)
    planned_bench.plan()
    assert planned_bench.dump() == before
    assert len(llm_server.chats) == calls
    planned_bench.build()


def test_plan_counts_what_a_build_embeds(planned_bench: Workbench) -> None:
    plan = planned_bench.plan()
    built = planned_bench.build()
    embedded = built.stage("leaves").embedded + built.stage("document_summaries").embedded
    assert sum(plan.embeddings.values()) == embedded


def test_plan_names_what_cannot_be_read(planned_bench: Workbench) -> None:
    planned_bench.write("garbage.md", bytes(range(256)) * 30)
    plan = planned_bench.plan()
    assert plan.documents == {"new": 10, "failed": 1}
    assert [problem.split(":")[0] for problem in plan.problems] == ["garbage.md"]
    planned_bench.build()


def test_plan_of_chunk_summaries_counts_each_leaf(planned_bench: Workbench, llm_server: LLMServer) -> None:
    planned_bench.settings["summaries"] = {"chunk": True, "chunk_tokens": 40}
    plan = planned_bench.plan()
    built = planned_bench.build()
    leaves = planned_bench.value("select count(*) from leaf")
    assert sum(action.kind == "chunk_summary" for action in plan.actions) == leaves
    assert plan.exact.calls == built.stage("document_summaries").calls


def test_plan_of_a_free_summarizer_costs_nothing(bench: Workbench) -> None:
    bench.fill(documents())
    plan = bench.plan()
    assert (plan.expected.calls, plan.expected.usd, plan.paid) == (0, 0.0, False)
    assert sum(action.kind == "document_summary" for action in plan.actions) == 10
    bench.build()


@pytest.mark.parametrize("word", ["plum", "pear"], ids=["same", "other"])
def test_plan_of_two_long_documents_pays_equal_ones_once(
    planned_bench: Workbench, llm_server: LLMServer, word: str
) -> None:
    planned_bench.fill({f"{n}.md": f"Every {w} here is a ripe {w}.\n\n" * 120 for n, w in enumerate(("plum", word))})
    plan = planned_bench.plan()
    agree(plan, planned_bench.build(), llm_server)


def test_plan_after_failures_asks_for_them_again(planned_bench: Workbench, llm_server: LLMServer) -> None:
    llm_server.when("unit 4.", behaviors.refusal())
    planned_bench.build()
    llm_server.reset()
    llm_server.default = obedient
    plan = planned_bench.plan()
    built = planned_bench.build()
    assert [(action.document, action.cause) for action in plan.actions] == [("music/004.md", "failed before")]
    agree(plan, built, llm_server)
