"""A purged document is gone: from a dump of the database, from the bytes of its files and from the home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from overstory.adapters.embedded_postgres import ServerAddress
from overstory.adapters.postgres.traces import PostgresTexts
from overstory.building.purging import Gone, find, find_purged, proof_of, purge
from overstory.record import DocumentRow
from overstory.traces import Proof, files
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document, grouped
from tests.scenarios.workbench import DATASET, Workbench

MARKER = "Zanzibar-7341"
SENTENCE = f"Invoices of the {MARKER} office are kept for 7,341 days and $8,652 is charged on 2025-03-14."
SECRET = "billing/000.md"


def secret(paragraphs: int = 1) -> str:
    return f"{SENTENCE} {SENTENCE.replace('Invoices', 'Receipts')}\n\n" + document("billing", 0, paragraphs)


@pytest.fixture
def built(bench: Workbench) -> Iterator[Workbench]:
    """An index in which one document says what no other does, and so do summaries at every level; built once more."""
    bench.settings |= {
        "summaries": {"chunk": True},
        "chunking": {"leaf_tokens": 128, "section_tokens": 500},
        "clusters": {"max_level": 3},
    }
    bench.fill({**corpus(12), SECRET: secret(12)})
    bench.build()
    yield bench
    bench.build()


def texts(bench: Workbench, *, own_server: bool = False) -> PostgresTexts:
    return PostgresTexts(bench.record.db, own_server=own_server)


def purged(bench: Workbench, name: str = SECRET) -> Gone:
    """What a purge removed."""
    ctx = bench.context()
    row = find(ctx, name)
    assert isinstance(row, DocumentRow)
    return purge(ctx, row, texts(bench))


def proof(bench: Workbench, gone: Gone) -> Proof:
    return proof_of(gone, texts(bench))


def statistics(bench: Workbench) -> str:
    return "\n".join(row for (row,) in bench.sql("select s::text from pg_stats s where schemaname = 'overstory'"))


def bytes_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()


def holding(folder: Path, needle: str) -> list[str]:
    """Files beneath a folder in whose bytes a word stands."""
    return [path for path, raw in bytes_of(folder) if needle.encode() in raw]


def test_marker_stands_in_summaries_of_every_level_before_a_purge(built: Workbench) -> None:
    holding_it = {s.kind for s in built.inspection.summaries(DATASET) if MARKER in s.text}
    assert holding_it == {"chunk_summary", "section_summary", "document_summary", "cluster_summary"}


def test_purge_leaves_nothing_in_any_table(built: Workbench) -> None:
    assert MARKER in built.texts()
    purged(built)
    assert MARKER not in built.texts()


def test_purge_leaves_nothing_in_the_statistics_of_the_planner(built: Workbench) -> None:
    built.run_sql("analyze")
    assert "zanzibar" in statistics(built).lower()
    purged(built)
    assert "zanzibar" not in statistics(built).lower()


def test_purge_removes_summaries_of_clusters_and_the_next_build_makes_them_again(built: Workbench) -> None:
    clusters = built.summaries("cluster_summary")
    gone = purged(built)
    assert gone.clusters > 0
    assert len(built.summaries("cluster_summary")) == len(clusters) - gone.clusters
    built.build()
    assert not [level for level in built.health().levels if level.missing or level.stale]
    assert MARKER not in built.texts()


def test_purge_leaves_clusters_of_others_as_they_were(bench: Workbench) -> None:
    bench.fill({**grouped(4, 8), "g0/secret.md": f"{grouped(1, 1)['g0/0.md']}\n{SENTENCE}\n"})
    bench.build()
    document_id = bench.id_of("g0/secret.md")
    over = {cluster for cluster, members in bench.memberships().items() if document_id in {m for m, _ in members}}
    before = {s.cluster_id: s.text for s in bench.summaries("cluster_summary")}
    purged(bench, "g0/secret.md")
    assert {s.cluster_id: s.text for s in bench.summaries("cluster_summary")} == {
        cluster: text for cluster, text in before.items() if cluster not in over
    }
    assert over
    assert before.keys() - over
    bench.build()


def test_purged_document_stays_away_though_its_file_is_there(built: Workbench) -> None:
    purged(built)
    done = built.build()
    assert SECRET not in built.paths()
    assert "1 purged document is left out: 'overstory purge DOC --undo' takes one in again" in done.notes


def test_purged_document_stays_away_when_its_file_is_edited(built: Workbench) -> None:
    purged(built)
    built.write(SECRET, secret() + "One more line.\n")
    built.build()
    assert SECRET not in built.paths()


def test_plan_says_that_a_purged_document_is_left_out(built: Workbench) -> None:
    purged(built)
    assert any("1 purged document is left out" in note for note in built.plan().notes)


def test_record_remembers_ids_of_a_purged_document_alone(built: Workbench) -> None:
    document_id = built.id_of(SECRET)
    purged(built)
    rows = built.sql("select dataset, place::text, document_id::text from purged_document")
    assert [tuple(row) for row in rows] == [(DATASET, document_id, document_id)]
    assert SECRET not in built.texts()


def test_undo_takes_a_document_in_again(built: Workbench) -> None:
    purged(built)
    remembered = find_purged(built.context(), SECRET)
    assert remembered is not None
    built.record.purges.undo(DATASET, remembered)
    built.build()
    assert SECRET in built.paths()


def test_moved_document_is_purged_and_stays_away_at_its_new_path(built: Workbench) -> None:
    former = built.id_of(SECRET)
    (built.folder / SECRET).rename(built.folder / "billing/moved.md")
    built.build()
    assert built.id_of("billing/moved.md") == former
    purged(built, "billing/moved.md")
    assert MARKER not in built.texts()
    built.build()
    assert MARKER not in built.texts()
    assert find_purged(built.context(), former) == find_purged(built.context(), "billing/moved.md")


def test_text_that_waits_to_be_cut_is_purged(built: Workbench) -> None:
    from overstory.building.documents import sync_documents

    built.write(SECRET, secret() + "A line about Quartz-99.\n")
    sync_documents(built.context())
    assert "Quartz-99" in built.texts()
    purged(built)
    assert "Quartz-99" not in built.texts()


def test_stale_cluster_summary_of_a_document_that_left_is_purged(built: Workbench) -> None:
    (held,) = built.sql(
        "select id::text from summary where kind = 'cluster_summary' and text like '%Zanzibar%' limit 1"
    )
    document_id = built.id_of(SECRET)
    built.run_sql("delete from membership where member_id = cast(:id as uuid)", id=document_id)
    built.run_sql("delete from cluster c where not exists (select 1 from membership where cluster_id = c.id)")
    assert held
    purged(built)
    assert MARKER not in built.texts()


def test_proof_is_clean_after_a_purge(built: Workbench) -> None:
    gone = purged(built)
    found = proof(built, gone)
    assert found.clean
    assert found.passages > 2


def test_proof_looks_at_every_table_that_may_hold_text(built: Workbench) -> None:
    stores = {finding.store for finding in proof(built, purged(built)).findings}
    (table,) = built.sql("select name from vector_table")[0]
    expected = {"leaf.text", "leaf.search", "summary.text", "summary.fact_check", "answer.text", "ledger.kind"}
    expected |= {"cluster_model.state", "version_leaf.headings", "section.heading", "document_version.text"}
    assert {f"overstory.{name}" for name in expected} | {"pg_stats", f"overstory.{table} (rows)"} <= stores


def test_proof_covers_a_column_that_is_added_later(built: Workbench) -> None:
    built.run_sql("alter table ledger add column remark text")
    built.run_sql("create table public.events (id int, body text)")
    built.run_sql("insert into public.events values (1, :body)", body='{"text": "So:\\nZanzibar-7341\\nis kept"}')
    found = proof(built, purged(built))
    assert {f.store: f.found for f in found.findings if f.found} == {"public.events.body": 1}
    assert "overstory.ledger.remark" in {finding.store for finding in found.findings}
    built.run_sql("drop table public.events")


def test_proof_finds_a_line_in_a_log(built: Workbench, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(f"ERROR: it says: {SENTENCE}\n", encoding="utf-8")
    found = proof_of(purged(built), texts(built), [files(logs, "logs")])
    assert [finding.store for finding in found.findings if finding.found] == ["logs"]


def test_what_another_document_says_too_is_not_looked_for(built: Workbench) -> None:
    built.write("copy.md", secret(12))
    built.build()
    gone = purged(built)
    assert gone.traces.found_in(SENTENCE) == set()
    assert MARKER in built.texts()


def test_bytes_leave_the_data_files_when_erased(built: Workbench, server: ServerAddress, server_home: Path) -> None:
    built.run_sql("checkpoint")
    data = server_home / "postgres"
    assert holding(data.resolve(), MARKER)
    purged(built)
    missed = texts(built, own_server=True).erase()
    assert holding(data.resolve(), MARKER) == []
    assert missed == ["backups, archived WAL, replicas and the free blocks of the disk"]


def test_home_holds_nothing_but_data_files(built: Workbench, server_home: Path) -> None:
    purged(built)
    assert [path for path in holding(server_home / "logs", MARKER)] == []


def test_answers_that_saw_a_document_are_purged(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.fill({**corpus(8), SECRET: secret()})
    llm_bench.build()
    assert llm_bench.value("select count(*) from answer where text like '%7,341%'") > 0
    llm_bench.write(SECRET, secret().replace("7,341", "9,119").replace("7341", "9119"))
    llm_bench.build()
    assert llm_bench.value("select count(*) from answer where text like '%7,341%'") > 0
    purged(llm_bench)
    dump = llm_bench.texts()
    assert [word for word in ("7,341", "Zanzibar", "9,119") if word in dump] == []
    llm_bench.build()
