"""Each kind of damage is done by hand; verify names it, repair mends it without a call, and the next build is whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overstory.building.documents import sync_documents
from overstory.building.invariants import Fault
from overstory.building.verifying import Repaired, repair, verify
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import DATASET, Workbench

Damage = Callable[[Workbench], None]

UNKNOWN = "00000000-0000-5000-8000-000000000000"


@pytest.fixture
def built(llm_bench: Workbench) -> Workbench:
    """An index by a model that is paid, with chunk summaries, sections and clusters."""
    llm_bench.settings |= {
        "summaries": {"chunk": True},
        "chunking": {"leaf_tokens": 128, "section_tokens": 500},
    }
    llm_bench.fill(corpus(12))
    llm_bench.write("long.md", document("music", 9, paragraphs=16))
    llm_bench.build()
    return llm_bench


def found(bench: Workbench) -> set[Fault]:
    return {violation.fault for violation in verify(bench.context(), bench.inspection)}


def mended(bench: Workbench) -> Repaired:
    ctx = bench.context()
    return repair(ctx, bench.inspection, verify(ctx, bench.inspection))


def vectors(bench: Workbench) -> str:
    return str(bench.value("select name from vector_table"))


def node(bench: Workbench, kind: str) -> str:
    """The least summary of a kind."""
    return str(bench.sql("select id::text from summary where kind = :kind order by id limit 1", kind=kind)[0][0])


def lose_vectors(bench: Workbench) -> None:
    bench.run_sql(f"delete from {vectors(bench)} where node_id in (select node_id from {vectors(bench)} limit 5)")


def add_a_foreign_vector(bench: Workbench) -> None:
    table = vectors(bench)
    bench.run_sql(
        f"insert into {table} select cast(:id as uuid), document_id, kind, level, embedding from {table} limit 1",
        id=UNKNOWN,
    )


def misplace_a_vector(bench: Workbench) -> None:
    bench.run_sql(f"update {vectors(bench)} set level = 7 where kind = 'document_summary'")


def leave_a_leaf_of_no_version(bench: Workbench) -> None:
    bench.run_sql(
        "insert into leaf (id, document_id, content_hash, text, context, tokens, language) "
        "select cast(:id as uuid), document_id, content_hash, text, context, tokens, language from leaf limit 1",
        id=UNKNOWN,
    )


def leave_nodes_of_a_dead_version(bench: Workbench) -> None:
    """A version beside the current one that still has a leaf and a section."""
    bench.run_sql(
        "insert into document_version (id, document_id, number, content_hash, chars) "
        "select cast(:id as uuid), d.id, 0, 'former', 1 from document d where path = 'long.md'",
        id=UNKNOWN,
    )
    for table in ("version_leaf", "section"):
        bench.run_sql(
            f"create temporary table copied as select x.* from {table} x join document d "
            "on d.current_version = x.version_id where d.path = 'long.md' and x.ordinal = 0; "
            "update copied set version_id = '00000000-0000-5000-8000-000000000000'; "
            f"insert into {table} select * from copied; drop table copied"
        )


def outlive_a_version(bench: Workbench) -> None:
    bench.run_sql("update summary set made_at = made_at - interval '1 hour' where document_id is not null")


def lose_a_leaf_within(bench: Workbench) -> None:
    bench.run_sql(
        "delete from version_leaf where ordinal = 2 and version_id = "
        "(select current_version from document where path = 'long.md')"
    )


def lose_the_last_leaf(bench: Workbench) -> None:
    bench.run_sql(
        "delete from version_leaf vl using document d where d.current_version = vl.version_id and d.path = 'long.md' "
        "and ordinal = (select max(ordinal) from version_leaf m where m.version_id = vl.version_id)"
    )


def add_a_member_that_does_not_exist(bench: Workbench) -> None:
    bench.run_sql(
        "insert into membership select id, cast(:id as uuid), 0.5 from cluster order by id limit 1", id=UNKNOWN
    )


def lose_a_member(bench: Workbench) -> None:
    bench.run_sql(
        "delete from membership where (cluster_id, member_id) in (select cluster_id, member_id from membership limit 1)"
    )


def damage_a_leaf(bench: Workbench) -> None:
    bench.run_sql("update leaf set text = text || ' more' where id = (select id from leaf order by id limit 1)")


def damage_a_text(bench: Workbench) -> None:
    bench.run_sql(
        "update summary set text = text || ' more' where id = cast(:id as uuid)", id=node(bench, "document_summary")
    )


def damage_a_text_with_its_hash(bench: Workbench) -> None:
    bench.run_sql(
        "update section set child_hash = 'other' where version_id = "
        "(select current_version from document where path = 'long.md') and ordinal = 0"
    )
    bench.run_sql(
        "update summary set child_hash = 'other' where kind = 'section_summary' and ordinal = 0 and document_id = "
        "(select id from document where path = 'long.md')"
    )


def lose_a_fact_check(bench: Workbench) -> None:
    bench.run_sql(
        "update summary set fact_check = null where id = cast(:id as uuid)", id=node(bench, "cluster_summary")
    )


def orphan_an_answer(bench: Workbench) -> None:
    bench.run_sql(
        "insert into answer values (:dataset, 'child', 'recipe', 'What was said.', array[cast(:id as uuid)])",
        dataset=DATASET,
        id=UNKNOWN,
    )


def orphan_a_cluster(bench: Workbench) -> None:
    bench.run_sql(
        "insert into cluster values (cast(:id as uuid), :dataset, 2, 'topic', 0)", id=UNKNOWN, dataset=DATASET
    )


def orphan_a_summary(bench: Workbench) -> None:
    bench.run_sql(
        "update summary set ordinal = 77, id = cast(:new as uuid) where id = cast(:id as uuid)",
        id=node(bench, "chunk_summary"),
        new=UNKNOWN,
    )


DAMAGES: list[tuple[Damage, Fault]] = [
    (lose_vectors, Fault.NO_VECTOR),
    (add_a_foreign_vector, Fault.FOREIGN_VECTOR),
    (misplace_a_vector, Fault.MISPLACED_VECTOR),
    (leave_a_leaf_of_no_version, Fault.DEAD_VERSION),
    (leave_nodes_of_a_dead_version, Fault.DEAD_VERSION),
    (outlive_a_version, Fault.OUTLIVED),
    (lose_a_leaf_within, Fault.LOST_CHILD),
    (lose_the_last_leaf, Fault.LOST_CHILD),
    (add_a_member_that_does_not_exist, Fault.LOST_MEMBER),
    (lose_a_member, Fault.OTHER_MEMBERS),
    (damage_a_leaf, Fault.LEAF_HASH),
    (damage_a_text, Fault.TEXT_HASH),
    (damage_a_text_with_its_hash, Fault.CHILD_HASH),
    (lose_a_fact_check, Fault.UNFIT),
    (orphan_an_answer, Fault.ORPHAN),
    (orphan_a_cluster, Fault.ORPHAN),
    (orphan_a_summary, Fault.ORPHAN),
]

every_damage = pytest.mark.parametrize(
    ("damage", "fault"), [pytest.param(damage, fault, id=damage.__name__) for damage, fault in DAMAGES]
)


@every_damage
def test_damage_is_named_and_mended_without_a_call(
    built: Workbench, llm_server: LLMServer, damage: Damage, fault: Fault
) -> None:
    damage(built)
    assert fault in found(built)
    calls = len(llm_server.chats)
    assert mended(built).left == ()
    assert found(built) == set()
    built.build()
    assert found(built) == set()
    assert len(llm_server.chats) == calls


def test_whole_index_has_no_fault(built: Workbench) -> None:
    assert found(built) == set()


def test_case_13_lost_and_foreign_vectors_are_named_and_only_the_lost_are_embedded(built: Workbench) -> None:
    lose_vectors(built)
    add_a_foreign_vector(built)
    faults = [violation.fault for violation in verify(built.context(), built.inspection)]
    assert sorted(faults) == [Fault.NO_VECTOR] * 5 + [Fault.FOREIGN_VECTOR]
    assert built.embedder is not None
    built.embedder.texts.clear()
    assert mended(built).embedded == 5
    assert len(built.embedder.texts) == 5


def test_mending_nothing_writes_nothing(built: Workbench) -> None:
    before = built.dump()
    assert mended(built) == Repaired(0, ())
    assert built.dump() == before


def test_text_that_was_changed_is_stale_until_it_is_made_again(built: Workbench) -> None:
    text = built.summary("billing/000.md").text
    built.run_sql("update summary set text = text || ' more' where text = :text", text=text)
    mended(built)
    assert sum(level.stale for level in built.health().levels) > 0
    built.build()
    assert built.summary("billing/000.md").text == text


def test_edit_that_waits_is_no_fault(built: Workbench) -> None:
    built.write("billing/000.md", "Another text of $77.\n")
    sync_documents(built.context())
    assert found(built) == set()
    built.build()
