"""Memberships: who stays in a cluster, who leaves it, and what becomes of clusters that are left empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sqlalchemy as sa

from overstory import api
from overstory.building.documents import sync_documents
from overstory.building.memberships import update_memberships
from overstory.identity import ClusterId, DocumentId, derive_id, shard_of
from overstory.nodes import NodeKind, NodeState
from overstory.record import StoredModel
from overstory.retrieval.collapsed import search
from overstory.retrieval.quota import Quota
from quality.invariants import Invariant, violations
from tests.scenarios.corpora import corpus, grouped
from tests.scenarios.workbench import DATASET, CountingEmbedder, Workbench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from overstory.ports import Embedder, Vectors

LEVELS = {"target_size": 4, "max_level": 3}


@dataclass(slots=True)
class TurnedEmbedder:
    """The vectors of another embedder with two places more."""

    inner: Embedder
    name: str = "turned"
    paid: bool = False

    @property
    def dimension(self) -> int:
        return self.inner.dimension + 2

    @property
    def embedding_hash(self) -> str:
        return f"turned {self.inner.embedding_hash}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.pad(self.inner.embed(texts)[:, ::-1], ((0, 0), (2, 0)))


def turn(bench: Workbench) -> None:
    """From now on another embedder embeds."""
    assert bench.embedder is not None
    bench.embedder = CountingEmbedder(TurnedEmbedder(bench.embedder.inner))


def model(bench: Workbench, level: int = 2) -> StoredModel:
    found = bench.record.clusters.model(DATASET, level)
    assert found is not None
    return found


def members(bench: Workbench) -> set[str]:
    """Ids of all members of clusters."""
    return {member for held in bench.memberships().values() for member, _ in held}


def forget_summary(bench: Workbench, path: str) -> None:
    """Let a document be without a summary, as one is whose call fails."""
    bench.record.vectors.delete(DATASET, bench.record.summaries.purge([_id(bench, path)]))


def _id(bench: Workbench, path: str) -> DocumentId:
    (row,) = [row for row in bench.record.documents.rows(DATASET) if row.path == path]
    return row.id


def test_document_restored_after_a_build_that_only_deleted_it_is_in_its_clusters_again(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    before = bench.memberships()
    bench.remove("garden/002.md")
    sync_documents(bench.context())
    bench.write("garden/002.md", corpus(30)["garden/002.md"])
    bench.build()
    assert bench.memberships() == before


def test_document_without_a_summary_keeps_its_place(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    before = bench.memberships()
    forget_summary(bench, "garden/002.md")
    total = update_memberships(bench.context()).total
    assert (total.written, total.deleted) == (0, 0)
    assert bench.memberships() == before
    bench.build()


def test_document_without_a_summary_keeps_its_place_under_a_new_embedder(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    before = members(bench)
    bench.run_sql(
        "update summary set text = '', failure = 'refusal' where document_id = cast(:id as uuid)",
        id=bench.id_of("garden/002.md"),
    )
    turn(bench)
    ctx = bench.context()
    bench.record.vectors.prepare(DATASET, ctx.embedder.embedding_hash, ctx.embedder.dimension)
    _embed_everything(bench)
    update_memberships(ctx)
    assert model(bench).embedding_hash == ctx.embedder.embedding_hash
    assert members(bench) == before
    bench.build()


def _embed_everything(bench: Workbench) -> None:
    ctx = bench.context()
    embedding = ctx.embedder.embedding_hash
    missing = list(bench.record.vectors.without_vector(DATASET, embedding))
    vectors = ctx.embedder.embed([text for _, text in missing])
    bench.record.vectors.upsert(DATASET, embedding, [row for row, _ in missing], vectors)


def test_document_without_a_summary_survives_other_cluster_sizes(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    forget_summary(bench, "garden/002.md")
    bench.settings["clusters"] = {"target_size": 5}
    update_memberships(bench.context())
    assert bench.id_of("garden/002.md") in members(bench)
    bench.build()


def test_clusters_wait_until_a_new_embedder_has_embedded_every_shard(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    before, rows = model(bench), bench.memberships()
    turn(bench)
    partial = bench.build(shards=range(32))
    assert any("new embedder" in note for note in partial.notes)
    assert (model(bench), bench.memberships()) == (before, rows)
    bench.build()
    assert model(bench).embedding_hash != before.embedding_hash
    assert {c: {m for m, _ in held} for c, held in bench.memberships().items()} == {
        c: {m for m, _ in held} for c, held in rows.items()
    }


def test_clusters_are_fitted_anew_where_a_new_embedder_meets_new_documents_alone(bench: Workbench) -> None:
    bench.fill(corpus(24))
    bench.build()
    bench.clear()
    bench.fill(grouped(6, 4))
    turn(bench)
    bench.build()
    assert model(bench).embedding_hash == bench.context().embedder.embedding_hash
    assert members(bench) == {row.id for row in bench.record.documents.rows(DATASET)}


def test_new_embedder_keeps_the_third_level(bench: Workbench) -> None:
    bench.settings["clusters"] = LEVELS
    bench.fill(grouped(10, 4))
    bench.build()
    before = {cluster: {m for m, _ in held} for cluster, held in bench.memberships().items()}
    turn(bench)
    built = bench.build()
    assert model(bench, 3).embedding_hash == bench.context().embedder.embedding_hash
    assert {cluster: {m for m, _ in held} for cluster, held in bench.memberships().items()} == before
    assert built.stage("cluster_summaries").written == 0


@pytest.mark.parametrize("left", [1, 2, 3, 4, 6])
def test_third_level_over_a_shrinking_second_comes_out_the_same_twice(bench: Workbench, left: int) -> None:
    bench.settings["clusters"] = LEVELS
    bench.fill(grouped(10, 4))
    bench.build()
    bench.remove(*[path for path in grouped(10, 4) if int(path[1]) >= left])
    bench.build()
    bench.check_rebuild()


def _empty_one(bench: Workbench) -> tuple[str, str]:
    """Delete all documents of one cluster from the source; returns the cluster and its summary."""
    cluster = next(c for c, level in bench.sql("select id::text, level from cluster order by id") if level == 2)
    paths = {row.id: row.path for row in bench.record.documents.rows(DATASET)}
    bench.remove(*[paths[DocumentId(member)] for member, _ in bench.memberships()[cluster]])
    node = bench.value("select id::text from summary where cluster_id = cast(:id as uuid)", id=cluster)
    return cluster, str(node)


def test_cluster_goes_with_the_last_of_its_documents(bench: Workbench) -> None:
    bench.settings["clusters"] = LEVELS
    bench.fill(grouped(10, 4))
    bench.build()
    cluster, node = _empty_one(bench)
    sync_documents(bench.context())
    assert cluster not in {tree.cluster_id for tree in bench.record.clusters.trees(DATASET, 2)}
    assert node not in {summary.id for summary in bench.summaries("cluster_summary")}
    assert node not in {vector.node_id for vector in bench.inspection.vectors(DATASET)}
    assert cluster not in members(bench)
    assert bench.violations() == []
    bench.build()


def _orphan(bench: Workbench) -> str:
    """Take a cluster's members away behind the back of the program; returns its summary."""
    cluster = bench.value("select min(id::text) from cluster where level = 2")
    bench.run_sql("delete from membership where cluster_id = cast(:id as uuid)", id=cluster)
    return str(bench.value("select id::text from summary where cluster_id = cast(:id as uuid)", id=cluster))


def test_summary_of_a_cluster_without_members_is_an_orphan(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    node = _orphan(bench)
    health = bench.health()
    assert [level.orphaned for level in health.levels if level.kind is NodeKind.CLUSTER_SUMMARY] == [1]
    assert health.unfresh[node][1] is NodeState.ORPHANED
    bench.build()
    assert bench.health().unfresh == {}


def test_summary_of_a_cluster_without_members_is_not_found(bench: Workbench) -> None:
    bench.fill(corpus(30))
    bench.build()
    node = _orphan(bench)
    text = str(bench.value("select text from summary where id = cast(:id as uuid)", id=node))
    ctx = api.open_search(bench.dataset, bench.record)
    found = search(ctx, text, Quota(0, 20))
    assert found.hits
    assert node not in {hit.node_id for hit in found.hits}
    bench.build()


def test_waiting_edit_is_as_old_as_the_text_that_waits(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    bench.run_sql("update document_version set current_at = current_at - interval '9 days'")
    bench.write("garden/002.md", "Another text.\n")
    sync_documents(bench.context())
    seen = bench.value("select max(extracted_at) from document_version where current_at is null")
    assert bench.health().stale_since == seen
    bench.build()


def test_cluster_that_lost_a_member_is_at_most_as_old_as_its_summary(bench: Workbench) -> None:
    bench.fill(corpus(12))
    bench.build()
    bench.remove("garden/002.md")
    sync_documents(bench.context())
    made = bench.value("select made_at from summary where kind = 'cluster_summary'")
    assert bench.health().stale_since == made
    bench.build()


def test_cluster_of_which_only_a_weight_differs_counts_as_written(bench: Workbench) -> None:
    bench.fill(corpus(40))
    bench.build()
    cluster = bench.value(
        "update membership set weight = weight / 2 where ctid = (select min(ctid) from membership) "
        "returning cluster_id::text"
    )
    report = update_memberships(bench.context())
    assert (report.total.written, report.shards[shard_of(ClusterId(cluster))].written) == (1, 1)


@pytest.fixture
def built(loose_bench: Workbench) -> Workbench:
    """An index with three levels in which everything is well."""
    loose_bench.settings["clusters"] = LEVELS
    loose_bench.fill(grouped(10, 4))
    loose_bench.build()
    assert loose_bench.violations() == []
    return loose_bench


@pytest.mark.parametrize("level", [2, 3])
def test_membership_that_its_model_alone_knows_is_reported(built: Workbench, level: int) -> None:
    ((cluster, member),) = built.sql(
        "select m.cluster_id::text, m.member_id::text from membership m join cluster c on c.id = m.cluster_id "
        "where c.level = :level order by 1, 2 limit 1",
        level=level,
    )
    built.run_sql(
        "delete from membership where cluster_id = cast(:c as uuid) and member_id = cast(:m as uuid)",
        c=cluster,
        m=member,
    )
    assert (Invariant.CHILDREN, cluster, f"its member {member} is in its model alone") in {
        (v.invariant, v.node_id, v.what) for v in violations(built.context(), built.inspection)
    }


def test_membership_that_its_model_does_not_know_is_reported(built: Workbench) -> None:
    cluster = built.value("select min(id::text) from cluster where level = 2")
    held = {member for member, _ in built.memberships()[cluster]}
    stranger = next(row.id for row in built.record.documents.rows(DATASET) if row.id not in held)
    built.run_sql("insert into membership values (cast(:c as uuid), cast(:m as uuid), 1)", c=cluster, m=stranger)
    assert (Invariant.CHILDREN, cluster, f"its member {stranger} is not in its model") in {
        (v.invariant, v.node_id, v.what) for v in violations(built.context(), built.inspection)
    }


def _statements(bench: Workbench, number: int) -> int:
    """Statements that it takes to store a level of ``number`` clusters of ten."""
    ran: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        ran.append(statement)

    clusters = [ClusterId(derive_id("cluster", str(number), str(place))) for place in range(number)]
    wanted = {c: [(str(derive_id("document", c, str(place))), 1.0) for place in range(10)] for c in clusters}
    sa.event.listen(bench.record.db.engine, "before_cursor_execute", note)
    bench.record.clusters.save(DATASET, 2, StoredModel(b"model", number, "hash"), wanted)
    sa.event.remove(bench.record.db.engine, "before_cursor_execute", note)
    assert len(bench.memberships()) == number
    return len(ran)


def test_memberships_are_stored_in_bulk(loose_bench: Workbench) -> None:
    loose_bench.record.ensure_dataset(DATASET, "/source")
    assert _statements(loose_bench, 2) == _statements(loose_bench, 100)
