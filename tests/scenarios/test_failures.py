"""What fails fails alone, is told with its reason, and is made up for by the next build."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from overstory import api
from overstory.building.health import examine_document
from overstory.cli.reading import unread
from overstory.errors import BudgetExhausted, BuildLocked, ExtractionError, ModelRefusedAccess, QuotaExhausted
from overstory.freshness import Cause
from overstory.nodes import NodeKind, NodeState
from overstory.ports import ClosedFolder, Source, SourceFile
from tests import llm_behaviors as behaviors
from tests.llm_behaviors import Call
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document, grouped
from tests.scenarios.workbench import DATASET, Workbench

SMALL_LEAVES = {"leaf_tokens": 64}
SECTIONED = {"leaf_tokens": 128, "section_tokens": 500}


def of_cluster(call: Call) -> bool:
    """Whether a call is about a cluster."""
    return "group of related texts" in call.prompt


def test_case_20_one_cluster_of_nine_fails_and_the_others_are_kept(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["clusters"] = {"target_size": 6, "mean_memberships": 1.0}
    llm_bench.fill(grouped(9, 6))
    llm_server.when(lambda call: of_cluster(call) and "Group 3 holds" in call.prompt, behaviors.refusal())
    built = llm_bench.build()
    clusters = llm_bench.memberships()
    stored = llm_bench.summaries("cluster_summary")
    (failed,) = [summary for summary in stored if summary.failure]
    members = {llm_bench.id_of(f"g3/{number}.md") for number in range(6)}
    level = next(level for level in llm_bench.health().levels if level.kind is NodeKind.CLUSTER_SUMMARY)
    assert (len(clusters), built.stage("cluster_summaries").written) == (9, 8)
    assert failed.failure == "refusal"
    assert {member for member, _ in clusters[failed.cluster_id or ""]} == members
    assert [problem.subject for problem in built.problems] == [failed.cluster_id]
    assert (level.fresh, level.failed) == (8, 1)
    llm_server.reset()
    again = llm_bench.build()
    assert (len(llm_server.chats), again.stage("cluster_summaries").written, again.problems) == (1, 1, [])


@pytest.mark.parametrize(
    ("behavior", "reason"),
    [
        (behaviors.refusal(), "refusal"),
        (behaviors.says("NOT_FOUND"), "nothing"),
        (behaviors.echo, "echo"),
        (behaviors.empty(), "empty"),
        (behaviors.think_only, "only reasoning"),
    ],
    ids=["refusal", "not found", "echo", "empty", "thoughts"],
)
def test_case_40_unusable_answer_is_never_stored(
    llm_bench: Workbench, llm_server: LLMServer, behavior: behaviors.Behavior, reason: str
) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.fill({"a.md": document("music", 1, paragraphs=6), "b.md": document("garden", 2, paragraphs=6)})
    llm_server.when("unit 1", behavior)
    built = llm_bench.build()
    summary = llm_bench.summary("a.md")
    assert summary.text == ""
    assert summary.failure is not None
    assert reason in summary.failure
    assert len([call for call in llm_server.chats if "unit 1" in call.prompt]) == 2
    assert [problem.subject for problem in built.problems] == [llm_bench.id_of("a.md")]
    assert llm_bench.summary("b.md").failure is None


def test_case_40_template_echoed_back_is_not_stored(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.write("a.md", document("music", 1, paragraphs=6))
    llm_server.default = behaviors.says(
        "Summarize the document inside the tags for a search index, in its own language."
    )
    llm_bench.build()
    assert llm_bench.summary("a.md").failure


def test_case_40_last_good_summary_stays_and_is_shown_stale_while_the_text_is_unchanged(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.write("a.md", document("music", 1, paragraphs=6))
    llm_bench.build()
    before = llm_bench.summary("a.md")
    llm_bench.settings["summarizer"]["model"] = "another"
    llm_server.default = behaviors.refusal()
    built = llm_bench.build()
    assert llm_bench.summary("a.md") == before
    assert llm_bench.health().unfresh[before.id][1] is NodeState.STALE
    (problem,) = built.problems
    assert (problem.path, problem.kind) == ("a.md", "document_summary: refusal")
    assert problem.reason.startswith("a.md: the model refused to summarize it. Build again")
    llm_server.reset()
    llm_bench.build()


def test_case_40_no_summary_of_a_former_text_stays(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.write("a.md", document("music", 1, paragraphs=6))
    llm_bench.build()
    llm_bench.write("a.md", document("music", 9, paragraphs=6))
    llm_server.default = behaviors.refusal()
    llm_bench.build()
    assert llm_bench.summary("a.md").failure == "refusal"
    assert "unit 1." not in "\n".join(summary.text for summary in llm_bench.inspection.summaries("docs"))


def test_stale_cluster_stays_when_its_new_summary_fails(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.fill(corpus(6))
    llm_bench.build()
    (before,) = llm_bench.summaries("cluster_summary")
    llm_bench.write("billing/000.md", document("billing", 50))
    llm_server.when(of_cluster, behaviors.refusal())
    llm_bench.build()
    assert llm_bench.summaries("cluster_summary") == [before]
    assert llm_bench.health().unfresh[before.id][1] is NodeState.STALE
    llm_server.reset()
    llm_bench.build()


def test_case_43_truncated_answer_is_asked_for_with_more_room(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.write("a.md", document("music", 1, paragraphs=6))
    llm_server.default = behaviors.truncated_below(700)
    llm_bench.build()
    assert len(llm_server.chats) == 2
    assert llm_bench.summary("a.md").failure is None


def test_case_43_answer_that_stays_truncated_is_a_failure(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.write("a.md", document("music", 1, paragraphs=6))
    llm_server.default = behaviors.truncated
    llm_bench.build()
    assert llm_bench.summary("a.md").failure == "truncated"
    llm_server.reset()
    llm_bench.build()


def test_case_43_no_member_of_a_cluster_beyond_the_window_is_left_out(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.settings["summarizer"]["window_tokens"] = 2000
    llm_bench.fill(corpus(20, paragraphs=3))
    longest = document("music", 88, paragraphs=4) + "\nThe marker Zyzzyva costs $424242.\n"
    llm_bench.write("longest.md", longest)
    llm_bench.build()
    about_clusters = [call for call in llm_server.chats if of_cluster(call)]
    assert len(about_clusters) > 1
    assert any("Zyzzyva" in call.prompt for call in about_clusters)
    assert all(behaviors.count(call) + behaviors.max_tokens(call) <= 2000 for call in llm_server.chats)


def test_case_43_the_end_of_a_long_document_reaches_the_model(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.write("book.md", document("travel", 5, paragraphs=400) + "\nThe marker Zyzzyva costs $424242.\n")
    llm_bench.build()
    assert len(llm_bench.summaries("section_summary")) > 3
    assert any("Zyzzyva" in call.prompt for call in llm_server.chats)


def test_case_45_rate_limit_is_waited_for(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.fill(corpus(6, paragraphs=6))
    llm_server.next(behaviors.rate_limited(0.5))
    built = llm_bench.build()
    limited, *after = llm_server.chats
    later = [call.at - limited.at for call in after if call.at - limited.at > 0.25]
    assert built.problems == []
    assert min(later) >= 0.5
    assert llm_server.statuses.count(200) == 7


def test_case_45_empty_account_stops_at_once_and_the_build_goes_on_later(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.fill(corpus(20, paragraphs=6))
    llm_server.when(lambda call: call.index >= 8, behaviors.insufficient_quota())
    with pytest.raises(QuotaExhausted):
        llm_bench.build()
    paid = llm_server.statuses.count(200)
    assert paid == 8
    assert llm_server.statuses.count(429) <= 4
    llm_server.reset()
    llm_bench.build()
    clusters = len(llm_bench.summaries("cluster_summary"))
    assert len(llm_server.chats) == 20 - paid + clusters


def test_wrong_key_ends_the_build_at_once(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.fill(corpus(20, paragraphs=6))
    llm_server.default = behaviors.error(401, code="invalid_api_key", message="Incorrect API key provided")
    with pytest.raises(ModelRefusedAccess):
        llm_bench.build()
    assert len(llm_server.chats) <= 4
    llm_server.reset()
    llm_bench.build()


def test_budget_stops_before_it_is_passed_and_the_build_goes_on_with_a_larger_one(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.settings |= {
        "chunking": SMALL_LEAVES,
        "prices": {"usd_per_mtok_in": 1000.0, "usd_per_mtok_out": 1000.0},
        "budget": {"usd": 9.0},
    }
    llm_bench.fill(corpus(20, paragraphs=6))
    with pytest.raises(BudgetExhausted):
        llm_bench.build()
    spent = llm_bench.record.ledger.spent("docs").usd
    paid = len(llm_server.chats)
    assert 4.0 < spent <= 9.0
    llm_bench.settings["budget"] = {"usd": 1000.0}
    llm_server.reset()
    llm_bench.build()
    assert len(llm_server.chats) == 20 - paid + len(llm_bench.summaries("cluster_summary"))


def test_truncated_answers_do_not_pass_the_budget(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings |= {
        "chunking": SMALL_LEAVES,
        "prices": {"usd_per_mtok_in": 1000.0, "usd_per_mtok_out": 1000.0},
        "budget": {"usd": 6.0},
    }
    llm_bench.fill(corpus(20, paragraphs=6))
    llm_server.default = behaviors.truncated
    with pytest.raises(BudgetExhausted):
        llm_bench.build()
    assert llm_bench.record.ledger.spent("docs").usd <= 6.0
    llm_bench.settings["budget"] = {}
    llm_server.reset()
    llm_bench.build()


def test_failed_section_holds_its_document_back(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SECTIONED
    llm_bench.fill({"long.md": document("music", 1, paragraphs=40), "b.md": document("garden", 2, paragraphs=6)})
    llm_server.when("$1257", behaviors.refusal())
    built = llm_bench.build()
    failed = [s.ordinal for s in llm_bench.summaries("section_summary") if s.failure]
    documents = {s.document_id for s in llm_bench.summaries("document_summary")}
    assert len(failed) == 1
    assert documents == {llm_bench.id_of("b.md")}
    section, held_back = built.reasons
    assert section.startswith(f"long.md, section {failed[0] + 1}")
    assert "the model refused to summarize it" in section
    assert held_back == f"long.md: section {failed[0] + 1} has no summary"
    llm_server.reset()
    llm_bench.build()
    assert len(llm_server.chats) == 2 + len(llm_bench.summaries("cluster_summary"))


@dataclass(frozen=True, slots=True)
class ClosedSource:
    """A source of which one document cannot be read."""

    inner: Source
    closed: str

    def files(self) -> list[SourceFile]:
        return self.inner.files()

    def closed_folders(self) -> list[ClosedFolder]:
        return self.inner.closed_folders()

    def unused_patterns(self) -> list[str]:
        return self.inner.unused_patterns()

    def read(self, path: str) -> bytes:
        if path == self.closed:
            raise ExtractionError(f"'{path}' cannot be read: Permission denied", hint="Mend its permissions")
        return self.inner.read(path)


def test_file_without_permission_fails_alone(bench: Workbench) -> None:
    bench.fill(corpus(4))
    source = ClosedSource(bench.context().source, "garden/002.md")
    built = bench.build(source=source)
    assert len(bench.summaries("document_summary")) == 3
    assert built.reasons == ["'garden/002.md' cannot be read: Permission denied. Mend its permissions"]
    before = bench.dump()
    bench.build(source=source)
    assert bench.dump() == before
    bench.build()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "is empty"),
        (b" \n\t \n", "holds no text"),
        (bytes(range(256)) * 40, "is not text in any known encoding"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is an image"),
        (b"PK\x03\x04 cut short", "is a damaged archive"),
    ],
    ids=["empty", "white space", "binary", "image", "archive"],
)
def test_bad_file_fails_alone_with_its_reason(bench: Workbench, raw: bytes, reason: str) -> None:
    bench.fill(corpus(4))
    bench.write("bad.md", raw)
    built = bench.build()
    health = bench.health()
    (told,) = built.reasons
    assert len(bench.summaries("document_summary")) == 4
    assert reason in told
    assert (health.documents, health.documents_failed, health.coverage) == (5, 1, 4 / 5)


def test_document_that_cannot_be_read_any_more_is_served_stale(bench: Workbench) -> None:
    bench.fill(corpus(4))
    bench.build()
    source = ClosedSource(bench.context().source, "garden/002.md")
    built = bench.build(source=source)
    states = {state for target, state in bench.health().unfresh.values() if target.document_id}
    assert len(built.problems) == 1
    assert (len(bench.summaries("document_summary")), states) == (4, {NodeState.STALE})
    found = api.search(bench.record, bench.dataset, "What does the garden team say about the compost?")
    assert {hit.state for hit in found.hits if hit.path == "garden/002.md"} == {NodeState.STALE}
    (closed,) = [row for row in bench.record.documents.rows(DATASET) if row.failure]
    health = examine_document(bench.context(), closed.id)
    assert health is not None
    assert {verdict.cause for target, verdict in health.nodes if target.document_id} == {Cause.UNREAD}
    bench.build()
    assert bench.health().unfresh == {}


EMPTIED = [b"", b" \n\t \n", bytes(range(256)) * 40, b"\x89PNG\r\n\x1a\n\x00\x00"]


@pytest.mark.parametrize("raw", EMPTIED, ids=["empty", "white space", "binary", "image"])
def test_nothing_of_a_document_stays_when_its_new_bytes_hold_no_text(bench: Workbench, raw: bytes) -> None:
    bench.fill(corpus(4))
    bench.build()
    bench.write("garden/002.md", raw)
    planned, built = bench.plan(), bench.build()
    assert (len(built.problems), planned.documents["failed"]) == (1, 1)
    assert len(bench.summaries("document_summary")) == 3
    found = api.search(bench.record, bench.dataset, "What does the garden team say about the compost?")
    assert "garden/002.md" not in {hit.path for hit in found.hits}
    health = bench.health()
    assert (health.documents, health.documents_failed, health.unfresh) == (4, 1, {})
    before = bench.dump()
    bench.build()
    assert bench.dump() == before


def test_clusters_are_made_again_without_a_document_that_was_emptied(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    (emptied,) = [row.id for row in bench.record.documents.rows(DATASET) if row.path == "garden/002.md"]
    bench.write("garden/002.md", b"")
    bench.build()
    trees = bench.record.clusters.trees(DATASET, 2)
    assert trees
    assert emptied not in {member.member_id for tree in trees for member in tree.members}
    bench.fill(corpus(30))
    bench.build()
    assert bench.health().unfresh == {}


def test_text_that_comes_back_costs_no_call(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.fill(corpus(4))
    llm_bench.build()
    llm_bench.write("garden/002.md", b"")
    llm_bench.build()
    calls = len(llm_server.chats)
    llm_bench.fill(corpus(4))
    llm_bench.build()
    assert len(llm_server.chats) == calls


def test_second_build_at_once_is_refused_and_nothing_is_torn(bench: Workbench) -> None:
    bench.fill(corpus(4))
    with bench.record.lock("docs"), pytest.raises(BuildLocked), bench.record.lock("docs"):
        pass
    with bench.record.lock("docs"):
        bench.build()


@pytest.mark.parametrize(
    "behavior", [behaviors.error(401), behaviors.insufficient_quota()], ids=["wrong key", "no quota"]
)
def test_ledger_holds_every_call_that_reached_the_endpoint_even_those_that_end_the_build(
    llm_bench: Workbench, llm_server: LLMServer, behavior: behaviors.Behavior
) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.fill({f"{n}.md": document("music", n, paragraphs=6) for n in range(6)})
    llm_server.default = behavior
    with pytest.raises((ModelRefusedAccess, QuotaExhausted)):
        llm_bench.build()
    assert llm_bench.value("select count(*) from ledger") == len(llm_server.chats) > 0
    assert llm_bench.value("select sum(tokens_in) from ledger") == 0
    llm_server.reset()
    llm_bench.build()


def test_status_lists_what_failed_with_path_reason_and_advice(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = SMALL_LEAVES
    llm_bench.fill({"a.md": document("music", 1, paragraphs=6), "empty.txt": ""})
    llm_server.default = behaviors.echo
    llm_bench.build()
    first, failed = llm_bench.health().failures
    assert first.path == "empty.txt"
    assert failed.path == "a.md"
    assert failed.reason.startswith("a.md: the model repeated the prompt or its source instead of summarizing. ")
    llm_server.reset()
    llm_bench.build()
    assert [failed.path for failed in llm_bench.health().failures] == ["empty.txt"]


def test_document_that_failed_is_known_though_it_has_no_node(bench: Workbench) -> None:
    bench.write("empty.txt", "")
    bench.build()
    error = unread(bench.context(), "empty.txt")
    assert error is not None
    assert "'empty.txt' has no summary: " in str(error)
    assert unread(bench.context(), "nothing.txt") is None
