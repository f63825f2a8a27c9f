"""For every kind of change a plan says what the build then does, three levels up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from overstory.building.document_summaries import summarize_documents
from overstory.building.documents import confirm_deletions, sync_documents
from overstory.building.leaves import cut_leaves
from tests import llm_behaviors as behaviors
from tests.llm_server import LLMServer
from tests.scenarios.corpora import SUBJECTS, corpus, document
from tests.scenarios.planned import compare, obedient
from tests.scenarios.test_memberships import turn
from tests.scenarios.workbench import DATASET, Workbench

MEMBERS = 7

Change = Callable[[Workbench], object]


def group(subject: str, numbers: range = range(MEMBERS)) -> Mapping[str, str]:
    """Documents of a few leaves each on one subject."""
    return {f"{subject}/{number}.md": document(subject, number, paragraphs=8) for number in numbers}


def documents() -> Mapping[str, str]:
    """Documents on six subjects, and one of several sections."""
    found = {path: text for subject in SUBJECTS for path, text in group(subject).items()}
    return {**found, "long.md": document("travel", 61, paragraphs=40)}


@pytest.fixture
def empty_bench(llm_bench: Workbench, llm_server: LLMServer) -> Workbench:
    """Documents that no build has seen yet, and a model that writes as much as it is asked for."""
    llm_bench.settings |= {
        "chunking": {"leaf_tokens": 96, "section_tokens": 900},
        "clusters": {"target_size": 5, "max_level": 3},
    }
    llm_bench.fill(documents())
    llm_server.default = obedient
    return llm_bench


@pytest.fixture
def built_bench(empty_bench: Workbench) -> Workbench:
    """The same with an index."""
    empty_bench.build()
    assert empty_bench.record.clusters.levels(DATASET) == [2, 3]
    return empty_bench


def test_plan_of_a_new_corpus(empty_bench: Workbench, llm_server: LLMServer) -> None:
    found = compare(empty_bench, llm_server)
    found.agree()
    for level in (2, 3):
        least, _, most = found.bounds(level)
        assert least <= empty_bench.value("select count(*) from cluster where level = :level", level=level) <= most


def write(documents: Mapping[str, str]) -> Change:
    return lambda bench: bench.fill(documents)


def edit(subject: str = "garden") -> Change:
    """Another text at a known path."""
    return write({f"{subject}/2.md": document(subject, 92, paragraphs=8)})


def delete(*paths: str) -> Change:
    def change(bench: Workbench) -> None:
        bench.remove(*paths)
        confirm_deletions(bench.context())

    return change


def move(bench: Workbench) -> None:
    (bench.folder / "garden/2.md").rename(bench.folder / "moved.md")


def move_and_touch(text: str) -> Change:
    """Other bytes of the same text at another path: a new document that says what a deleted one said."""

    def change(bench: Workbench) -> None:
        bench.write("old.md", text)
        bench.build()
        bench.remove("old.md")
        bench.write("new.md", text + "\n")

    return change


def settings(section: str, **values: object) -> Change:
    return lambda bench: bench.settings.setdefault(section, {}).update(values)


def lose(which: str) -> Change:
    """Delete vectors behind the back of the record."""

    def change(bench: Workbench) -> None:
        table = bench.value("select name from vector_table")
        assert bench.run_sql(f"delete from {table} where {which}") > 0

    return change


ALL_BUT_GARDEN = [path for path in documents() if not path.startswith("garden")]

BOUNDED: dict[str, Sequence[Change]] = {
    "edit": [edit()],
    "edit of a section": [write({"long.md": documents()["long.md"].replace("$3257", "$3258")})],
    "three edits": [edit(), edit("music"), edit("billing")],
    "edit that leaves a single leaf": [write({"garden/2.md": document("garden", 92)})],
    "edit that changes the subject": [write({"garden/2.md": document("music", 92, paragraphs=8)})],
    "addition": [write(group("garden", range(7, 8)))],
    "many additions": [write(group(subject, range(7, 14))) for subject in SUBJECTS],
    "edit, additions and deletion": [edit(), write(group("music", range(7, 9))), delete("travel/2.md")],
    "deletion and an addition of the same text": [move_and_touch(document("garden", 92))],
    "new size and an edit": [settings("clusters", target_size=8), edit()],
    "new size, no third level and an edit": [settings("clusters", target_size=8, max_level=2), edit()],
    "nearly all deleted and one edited": [delete(*ALL_BUT_GARDEN), edit()],
    "new model": [settings("summarizer", model="another")],
    "new chunks": [settings("chunking", leaf_tokens=64, section_tokens=600)],
    "new embedder and an edit": [turn, edit()],
    "lost vectors and an edit": [lose("true"), edit()],
}


@pytest.mark.parametrize("change", BOUNDED)
def test_plan_of_a_change_whose_clusters_depend_on_new_texts(
    built_bench: Workbench, llm_server: LLMServer, change: str
) -> None:
    for step in BOUNDED[change]:
        step(built_bench)
    compare(built_bench, llm_server).agree()


EXPECTED: dict[str, Sequence[Change]] = {
    "nothing": [],
    "deletion": [delete("garden/2.md")],
    "deletion of a group": [delete(*group("garden"))],
    "all but a few deleted": [delete(*ALL_BUT_GARDEN)],
    "all deleted": [delete(*documents())],
    "move": [move],
    "new prompt": [settings("summarizer", prompt="Shorten to about {target_tokens} tokens.\n{material}")],
    "shorter cluster summaries": [settings("summaries", cluster_tokens=300)],
    "new embedder": [turn],
    "new embedder and a deletion": [turn, delete("garden/2.md")],
    "larger clusters": [settings("clusters", target_size=10)],
    "smaller clusters": [settings("clusters", target_size=4)],
    "more memberships": [settings("clusters", mean_memberships=2.0)],
    "smaller clusters and a deletion": [settings("clusters", target_size=4), delete("garden/2.md")],
    "third level off": [settings("clusters", max_level=2)],
    "lost vectors": [lose("true")],
    "lost vectors of clusters": [lose("kind = 'cluster_summary'")],
    "lost vectors of leaves and a deletion": [lose("kind = 'leaf'"), delete("garden/2.md")],
    "lost vectors and larger clusters": [lose("kind = 'leaf'"), settings("clusters", target_size=8)],
}


@pytest.mark.parametrize("change", EXPECTED)
def test_plan_of_a_change_that_moves_no_document_expects_what_comes(
    built_bench: Workbench, llm_server: LLMServer, change: str
) -> None:
    for step in EXPECTED[change]:
        step(built_bench)
    found = compare(built_bench, llm_server)
    found.agree_on_clusters()
    assert found.plan.nothing_to_do == (change == "nothing")


def test_plan_of_a_third_level_counts_its_clusters(empty_bench: Workbench, llm_server: LLMServer) -> None:
    empty_bench.settings["clusters"]["max_level"] = 2
    empty_bench.build()
    empty_bench.settings["clusters"]["max_level"] = 3
    found = compare(empty_bench, llm_server)
    found.agree_on_clusters()
    clusters = empty_bench.value("select count(*) from cluster where level = 3")
    assert found.expected_above == {(3, "new"): clusters}
    assert found.plan.clusters.least == found.plan.clusters.most


def test_plan_of_other_cluster_sizes_says_that_clusters_are_made_anew(
    built_bench: Workbench, llm_server: LLMServer
) -> None:
    settings("clusters", target_size=10)(built_bench)
    found = compare(built_bench, llm_server)
    assert found.plan.notes == ("Clusters are made anew: their settings have changed",)
    assert found.plan.clusters.expected.calls > 0


@pytest.mark.parametrize("besides", [[], [settings("clusters", target_size=8), edit()]], ids=["alone", "with an edit"])
def test_plan_of_a_third_level_switched_off_counts_what_goes(built_bench: Workbench, besides: Sequence[Change]) -> None:
    clusters = built_bench.value("select count(*) from cluster where level = 3")
    settings("clusters", max_level=2)(built_bench)
    for step in besides:
        step(built_bench)
    plan = built_bench.plan()
    assert (plan.clusters.removed, plan.nothing_to_do) == (clusters, False)
    built_bench.build()


def test_plan_after_a_failed_document_expects_its_clusters(empty_bench: Workbench, llm_server: LLMServer) -> None:
    llm_server.when("unit 2.", behaviors.refusal())
    empty_bench.build()
    found = compare(empty_bench, llm_server)
    found.agree()
    assert {(action.level, action.cause) for action in found.plan.actions} == {(1, "failed before")}
    assert found.built.stage("cluster_summaries").written > 0


def test_plan_after_a_failed_cluster_tries_it_again(built_bench: Workbench, llm_server: LLMServer) -> None:
    cluster = built_bench.value("select id::text from cluster where level = 2 order by id limit 1")
    built_bench.run_sql(
        "update summary set text = '', failure = 'refusal' where cluster_id = cast(:id as uuid)", id=cluster
    )
    built_bench.run_sql("delete from answer")
    found = compare(built_bench, llm_server)
    found.agree()
    assert found.expected_above[2, "failed before"] == 1


def test_plan_of_a_revert_is_free_up_to_the_top(built_bench: Workbench, llm_server: LLMServer) -> None:
    edit()(built_bench)
    built_bench.build()
    built_bench.fill(documents())
    found = compare(built_bench, llm_server)
    found.agree_on_clusters()
    assert (found.chats, found.plan.expected.calls) == (0, 0)
    assert found.built.stage("cluster_summaries").written > 0


def test_plan_goes_on_where_an_embedder_was_changed_in_part(built_bench: Workbench, llm_server: LLMServer) -> None:
    turn(built_bench)
    built_bench.build(shards=range(32))
    found = compare(built_bench, llm_server)
    found.agree_on_clusters()
    assert 0 < found.embedded < len(built_bench.inspection.vectors(DATASET))


def test_plan_goes_on_where_a_build_ended_before_its_clusters(empty_bench: Workbench, llm_server: LLMServer) -> None:
    ctx = empty_bench.context()
    sync_documents(ctx)
    cut_leaves(ctx)
    summarize_documents(ctx)
    found = compare(empty_bench, llm_server)
    found.agree_on_clusters()
    assert found.plan.actions == ()


def test_plan_of_chunk_summaries_switched_off_counts_what_goes(built_bench: Workbench) -> None:
    settings("summaries", chunk=True, chunk_tokens=40)(built_bench)
    built_bench.build()
    chunks = len(built_bench.summaries("chunk_summary"))
    settings("summaries", chunk=False)(built_bench)
    plan = built_bench.plan()
    assert (plan.removed, plan.nothing_to_do) == (chunks, False)
    assert built_bench.build().stage("document_summaries").deleted == chunks


@pytest.mark.parametrize(
    ("before", "after"),
    [(0, 1), (0, 2), (1, 2), (2, 3), (4, 5), (5, 6), (6, 5), (6, 12), (12, 3), (3, 1), (2, 0)],
    ids=lambda number: str(number),
)
def test_plan_of_few_documents_knows_where_clusters_begin(
    llm_bench: Workbench, llm_server: LLMServer, before: int, after: int
) -> None:
    llm_server.default = obedient
    llm_bench.settings |= {"chunking": {"leaf_tokens": 96}, "clusters": {"target_size": 4, "max_level": 3}}
    every = corpus(12, paragraphs=8)
    llm_bench.fill(dict(list(every.items())[:before]))
    llm_bench.build()
    llm_bench.clear()
    llm_bench.fill(dict(list(every.items())[:after]))
    confirm_deletions(llm_bench.context())
    compare(llm_bench, llm_server).agree()


def test_plan_of_additions_to_a_single_document_that_stays(llm_bench: Workbench, llm_server: LLMServer) -> None:
    every = corpus(6, paragraphs=8)
    llm_bench.settings |= {"chunking": {"leaf_tokens": 96}, "clusters": {"target_size": 4}}
    llm_server.default = obedient
    llm_bench.fill(dict(list(every.items())[:2]))
    llm_bench.build()
    llm_bench.remove(*list(every)[:1])
    llm_bench.fill(dict(list(every.items())[2:5]))
    found = compare(llm_bench, llm_server)
    found.agree()
    assert found.plan.clusters.summaries == (1, 1, 1)
