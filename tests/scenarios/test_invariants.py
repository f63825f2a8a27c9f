"""Each invariant is broken on purpose, behind the back of the program, and reported."""

from __future__ import annotations

import pytest

from overstory.building.documents import sync_documents
from quality.invariants import Invariant, violations
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import DATASET, Workbench


@pytest.fixture
def built(loose_bench: Workbench) -> Workbench:
    """An index with sections, chunk summaries and clusters, in which everything is well."""
    loose_bench.settings |= {
        "summaries": {"chunk": True},
        "chunking": {"leaf_tokens": 128, "section_tokens": 500},
    }
    loose_bench.fill(corpus(6))
    loose_bench.write("long.md", document("music", 9, paragraphs=16))
    loose_bench.build()
    assert loose_bench.violations() == []
    return loose_bench


def found(bench: Workbench) -> set[tuple[Invariant, str]]:
    """Invariants that do not hold, and the nodes that break them."""
    return {(v.invariant, v.node_id) for v in violations(bench.context(), bench.inspection)}


def vector_table(bench: Workbench) -> str:
    return str(bench.value("select name from vector_table"))


def some(bench: Workbench, sql: str) -> str:
    """The least id that a query finds."""
    return str(bench.sql(f"{sql} order by 1 limit 1")[0][0])


def test_lost_vector_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from leaf")
    built.run_sql(f"delete from {vector_table(built)} where node_id = cast(:id as uuid)", id=node)
    assert found(built) == {(Invariant.VECTORS, node)}


def test_lost_vector_comes_back_without_a_call(built: Workbench) -> None:
    built.run_sql(f"delete from {vector_table(built)} where kind in ('leaf', 'cluster_summary')")
    built.build()
    assert built.violations() == []


def test_vector_without_a_row_is_reported(built: Workbench) -> None:
    table = vector_table(built)
    built.run_sql(
        f"insert into {table} select cast('00000000-0000-5000-8000-000000000000' as uuid), document_id, kind, level, "
        f"embedding from {table} limit 1"
    )
    assert found(built) == {(Invariant.VECTORS, "00000000-0000-5000-8000-000000000000")}


def test_vector_of_another_embedding_is_reported(built: Workbench) -> None:
    built.run_sql("update vector_table set embedding_hash = 'another'")
    built.record.vectors.prepare(DATASET, built.context().embedder.embedding_hash, built.context().embedder.dimension)
    assert {invariant for invariant, _ in found(built)} == {Invariant.VECTORS}


def test_vector_of_a_failed_summary_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'cluster_summary'")
    built.run_sql("update summary set text = '', failure = 'refusal' where id = cast(:id as uuid)", id=node)
    assert found(built) == {(Invariant.VECTORS, node)}


def test_leaf_of_a_former_version_is_reported(built: Workbench) -> None:
    built.write("billing/000.md", "Another text.\n")
    sync_documents(built.context())
    leaf = built.value(
        "select vl.leaf_id::text from document d join version_leaf vl on vl.version_id = d.current_version "
        "where d.path = 'billing/000.md'"
    )
    built.run_sql(
        "update document d set current_version = (select id from document_version v where v.document_id = d.id "
        "order by number desc limit 1) where path = 'billing/000.md'"
    )
    assert (Invariant.VERSIONS, leaf) in found(built)


def test_leaf_that_no_version_holds_is_reported(built: Workbench) -> None:
    node = some(built, "select leaf_id::text from version_leaf where ordinal > 0")
    built.run_sql("delete from version_leaf where leaf_id = cast(:id as uuid)", id=node)
    assert (Invariant.VERSIONS, node) in found(built)


def test_summary_of_a_former_version_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'document_summary'")
    built.run_sql("update summary set made_at = made_at - interval '1 day' where id = cast(:id as uuid)", id=node)
    assert found(built) == {(Invariant.VERSIONS, node)}


def test_member_that_does_not_exist_is_reported(built: Workbench) -> None:
    cluster = some(built, "select cluster_id::text from membership")
    built.run_sql("insert into membership values (cast(:id as uuid), cast(:id as uuid), 1)", id=cluster)
    assert (Invariant.CHILDREN, cluster) in found(built)


def test_section_that_names_leaves_that_do_not_exist_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'section_summary' and ordinal = 1")
    built.run_sql("update section set last_leaf = 999 where ordinal = 1")
    assert (Invariant.CHILDREN, node) in found(built)


def test_summary_over_nothing_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'chunk_summary'")
    built.run_sql("update summary set kind = 'section_summary', ordinal = 77 where id = cast(:id as uuid)", id=node)
    assert (Invariant.CHILDREN, node) in found(built)


def test_text_that_is_not_what_its_hash_says_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from leaf")
    built.run_sql("update leaf set text = text || ' more' where id = cast(:id as uuid)", id=node)
    assert (Invariant.HASHES, node) in found(built)


def test_parent_of_a_text_changed_behind_its_back_is_reported(built: Workbench) -> None:
    document = some(built, "select document_id::text from summary where kind = 'document_summary'")
    built.run_sql("update summary set text = text || ' more' where document_id = cast(:id as uuid)", id=document)
    parents = {s.id for s in built.summaries("cluster_summary")}
    assert parents <= {node for invariant, node in found(built) if invariant is Invariant.HASHES}


def test_fresh_node_without_a_fact_check_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'document_summary'")
    built.run_sql("update summary set fact_check = null where id = cast(:id as uuid)", id=node)
    assert found(built) == {(Invariant.FRESH, node)}


def test_fresh_node_without_words_is_reported(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'cluster_summary'")
    built.run_sql("update summary set text = ' ' where id = cast(:id as uuid)", id=node)
    assert (Invariant.FRESH, node) in found(built)


def test_stale_node_is_no_violation(built: Workbench) -> None:
    node = some(built, "select id::text from summary where kind = 'document_summary'")
    built.run_sql("update summary set child_hash = 'former', fact_check = null where id = cast(:id as uuid)", id=node)
    assert found(built) == set()


def test_violation_names_invariant_and_node(built: Workbench) -> None:
    node = some(built, "select id::text from leaf")
    built.run_sql(f"delete from {vector_table(built)} where node_id = cast(:id as uuid)", id=node)
    assert built.violations() == [f"I1: {node}: it has 0 vectors of the embedding in use"]
