"""What stands between the source folder and the leaves: where it lies, what it lists, how it is read."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from overstory import api, deletions
from overstory.adapters.extractors import LibraryExtractor
from overstory.building.documents import confirm_deletions, sync_documents
from overstory.building.leaves import cut_leaves
from overstory.errors import ExtractionError, SettingsError
from overstory.extraction import EXTRACTION_VERSION, MARKDOWN, Extracted, Extractor, extraction_recipe
from overstory.nodes import NodeKind
from overstory.ports import ClosedFolder, Source, SourceFile
from overstory.relocation import ensure_dataset
from overstory.settings import Dataset, parse
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus
from tests.scenarios.workbench import DATASET, Workbench

INDEX = ("document", "document_version", "leaf", "version_leaf", "summary", "cluster", "membership", "answer")
"""Tables of what is built."""


def index(bench: Workbench) -> dict[str, list[str]]:
    """What is built, with the transactions that wrote it."""
    return {name: rows for name, rows in bench.dump().items() if name in INDEX or name.startswith("vector_")}


def move(bench: Workbench, folder: Path) -> None:
    """Move the source."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(bench.folder, folder)
    bench.folder = folder


def test_moved_folder_costs_nothing(bench: Workbench, tmp_path: Path) -> None:
    bench.fill(corpus(6))
    bench.build()
    before = index(bench)
    move(bench, tmp_path / "elsewhere" / "source")
    api.relocate(bench.record, bench.dataset)
    assert bench.plan().nothing_to_do
    bench.check_rebuild()
    assert index(bench) == before


def test_folder_that_nobody_calls_moved_is_refused_with_the_command(bench: Workbench, tmp_path: Path) -> None:
    bench.fill(corpus(2))
    bench.build()
    move(bench, tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match=rf"overstory build {bench.folder} --dataset docs --moved"):
        bench.build()
    api.relocate(bench.record, bench.dataset)


def test_plan_of_a_moved_folder_does_not_tell_the_record(bench: Workbench, tmp_path: Path) -> None:
    bench.fill(corpus(2))
    bench.build()
    known = str(bench.folder)
    move(bench, tmp_path / "elsewhere")
    api.open_dataset(bench.dataset, bench.record, moved=True)
    assert bench.record.source(DATASET) == known
    api.relocate(bench.record, bench.dataset)


def _project(folder: Path) -> Dataset:
    """The dataset of a project with settings, whose source is relative to them."""
    return parse({"datasets": {DATASET: {"source": "docs"}}}, folder=folder).datasets[0]


def test_folder_that_moves_along_with_its_settings_needs_no_word(bench: Workbench, tmp_path: Path) -> None:
    move(bench, tmp_path / "project" / "docs")
    bench.fill(corpus(4))
    bench.build()
    before = index(bench)
    (tmp_path / "project").rename(tmp_path / "renamed")
    bench.folder = tmp_path / "renamed" / "docs"
    ensure_dataset(bench.record, _project(tmp_path / "renamed"))
    assert bench.record.source(DATASET) == str(bench.folder)
    bench.check_rebuild()
    assert index(bench) == before


def test_copy_of_a_project_is_refused_while_the_first_is_there(bench: Workbench, tmp_path: Path) -> None:
    move(bench, tmp_path / "project" / "docs")
    bench.fill(corpus(2))
    bench.build()
    shutil.copytree(tmp_path / "project", tmp_path / "copy")
    with pytest.raises(SettingsError, match="--moved"):
        api.open_dataset(_project(tmp_path / "copy"), bench.record)


def test_dataset_that_the_record_does_not_know_has_not_moved(loose_bench: Workbench) -> None:
    with pytest.raises(SettingsError, match="no dataset 'docs' that could have moved"):
        api.relocate(loose_bench.record, loose_bench.dataset)


FEW = {"max_share": 0.5, "min_documents": 3}
"""A guard for small corpora."""


def test_deletions_are_withheld_where_most_of_the_source_is_gone(bench: Workbench) -> None:
    bench.settings["deletions"] = FEW
    bench.fill(corpus(6))
    bench.build()
    bench.remove(*sorted(corpus(6))[:4])
    assert bench.plan().notes == (deletions.note(4, 6),)
    assert bench.plan().documents == {"unchanged": 2}
    built = bench.build()
    assert built.notes == [deletions.note(4, 6)]
    assert built.stage("documents").deleted == 0
    assert len(bench.paths()) == 6
    assert list(bench.record.documents.withheld(DATASET).values()) == [False] * 4


def test_approved_deletions_are_made_and_no_others(bench: Workbench) -> None:
    bench.settings["deletions"] = FEW
    names = sorted(corpus(6))
    bench.fill(corpus(6))
    bench.build()
    bench.remove(*names[:4])
    bench.build()
    assert confirm_deletions(bench.context()) == 4
    bench.clear()
    built = bench.build()
    assert bench.paths() == names[4:]
    assert built.stage("documents").deleted == 4
    assert built.notes == [deletions.note(2, 6)]


def test_approval_waits_for_the_shard_of_each_document(bench: Workbench) -> None:
    names = sorted(corpus(4))
    bench.fill(corpus(4))
    bench.build()
    bench.clear()
    confirm_deletions(bench.context())
    shards = {row.path: row.shard for row in bench.record.documents.rows(DATASET)}
    bench.build({shards[names[0]]})
    left = {name for name in names if shards[name] != shards[names[0]]}
    assert set(bench.paths()) == left
    assert list(bench.record.documents.withheld(DATASET).values()) == [True] * len(left)
    bench.build()
    assert bench.paths() == []


def test_document_that_comes_back_is_withheld_no_longer_and_costs_nothing(bench: Workbench) -> None:
    bench.fill(corpus(4))
    bench.build()
    before = index(bench)
    texts = {path: (bench.folder / path).read_bytes() for path in bench.paths()}
    times = {path: (bench.folder / path).stat().st_mtime_ns for path in texts}
    bench.clear()
    bench.build()
    confirm_deletions(bench.context())
    bench.fill(texts)
    for path, time in times.items():
        os.utime(bench.folder / path, ns=(time, time))
    bench.build()
    assert bench.record.documents.withheld(DATASET) == {}
    assert index(bench) == before


def test_withheld_deletions_stay_so_while_other_documents_come(bench: Workbench) -> None:
    bench.settings["deletions"] = FEW
    bench.fill(corpus(6))
    bench.build()
    bench.remove(*sorted(corpus(6))[:4])
    bench.build()
    bench.fill({f"new/{n}.md": f"Note {n} costs ${n}.\n" for n in range(20)})
    bench.build()
    assert len(bench.paths()) == 26


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A source of which one folder cannot be listed."""

    inner: Source
    folder: str

    def files(self) -> list[SourceFile]:
        return [file for file in self.inner.files() if not file.path.startswith(f"{self.folder}/")]

    def closed_folders(self) -> list[ClosedFolder]:
        return [ClosedFolder(self.folder, "Input/output error")]

    def unused_patterns(self) -> list[str]:
        return self.inner.unused_patterns()

    def read(self, path: str) -> bytes:
        if path.startswith(f"{self.folder}/"):
            raise ExtractionError(f"'{path}' cannot be read", hint="Mend its permissions")
        return self.inner.read(path)


def test_folder_that_cannot_be_listed_withholds_the_deletions_beneath_it_alone(bench: Workbench) -> None:
    bench.fill({"a.md": "It costs $5.\n", "b.md": "It costs $6.\n", "sub/c.md": "It costs $7.\n"})
    bench.build()
    bench.remove("a.md")
    source = Unlisted(bench.context().source, "sub")
    built = bench.build(source=source)
    assert bench.paths() == ["b.md", "sub/c.md"]
    assert bench.summary("sub/c.md").text == "It costs $7."
    assert built.reasons[0] == "The folder 'sub' cannot be listed: Input/output error. Mend its permissions"
    assert bench.record.documents.withheld(DATASET) == {}
    stale = {level.kind: level.stale for level in bench.health().levels}
    assert stale[NodeKind.LEAF] == 1
    before = bench.dump()
    bench.build(source=source)
    assert bench.dump() == before
    mended = bench.build()
    assert (mended.problems, mended.total.embedded, mended.total.written) == ([], 0, 0)


def test_file_moved_out_of_a_folder_that_cannot_be_listed_is_a_document_of_its_own(bench: Workbench) -> None:
    bench.fill({"a.md": "It costs $5.\n", "sub/c.md": "It costs $7.\n"})
    bench.build()
    former = bench.id_of("sub/c.md")
    bench.write("c.md", "It costs $7.\n")
    bench.build(source=Unlisted(bench.context().source, "sub"))
    assert bench.id_of("sub/c.md") == former
    assert bench.id_of("c.md") != former
    bench.build()


PAGE = "<html><body><p>Pro costs $49 a month since 2025-07-01.</p><p>{}</p></body></html>"


@dataclass(frozen=True, slots=True)
class OtherExtractor:
    """Another version of the extractor; it reads a word as another one."""

    inner: Extractor
    version: str
    spelling: tuple[str, str] = ("", "")

    def recipe(self, media_type: str) -> str:
        return f"other {self.version}"

    def extract(self, name: str, raw: bytes, media_type: str) -> Extracted:
        found = self.inner.extract(name, raw, media_type)
        return replace(found, text=found.text.replace(*self.spelling))


def _pages(bench: Workbench) -> Extractor:
    """Two pages and two texts, built; the extractor that read them."""
    bench.fill({f"{n}.html": PAGE.format(f"Plan {n} renews every {n} days.") for n in (2, 3)})
    bench.fill(corpus(2))
    bench.build()
    return bench.context().extractor


def test_new_extractor_that_makes_the_same_text_changes_nothing_below(bench: Workbench) -> None:
    below = ("leaf", "version_leaf", "summary", "membership")
    extractor = OtherExtractor(_pages(bench), "2")
    before = bench.dump()
    note = f"new extractor (other 2; text {EXTRACTION_VERSION}): 2 documents are read again"
    planned = bench.plan(extractor=extractor)
    assert (planned.notes, planned.nothing_to_do) == ((note,), True)
    built = bench.build(extractor=extractor)
    assert built.notes == [note]
    assert (built.total.written, built.total.embedded, built.total.deleted) == (0, 0, 0)
    after = bench.dump()
    assert {name for name in after if after[name] != before[name]} == {"document", "document_version"}
    assert all(after[name] == before[name] for name in below)
    assert bench.build(extractor=extractor).notes == []
    assert bench.dump() == after
    bench.build()


def test_new_extractor_that_makes_another_text_is_the_cause_of_what_is_made(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.settings["chunking"] = {"leaf_tokens": 32}
    long = " ".join(f"Plan {n} renews every {n} days." for n in range(2, 20))
    llm_bench.fill({"a.html": PAGE.format(long), "b.html": PAGE.format(f"{long} Odd.")})
    llm_bench.build()
    extractor = OtherExtractor(llm_bench.context().extractor, "2", ("Odd.", "Even."))
    planned = llm_bench.plan(extractor=extractor)
    assert {action.cause for action in planned.actions} == {"new extractor"}
    assert planned.embeddings.keys() == {"new extractor"}
    llm_server.reset()
    built = llm_bench.build(extractor=extractor)
    assert built.stage("documents").written == 1
    causes = llm_bench.sql(
        "select cause from ledger where run_id = :run and kind = 'document_summary'", run=f"run {llm_bench.runs}"
    )
    assert causes == [("new extractor",)]
    llm_bench.build()


@dataclass(frozen=True, slots=True)
class BrokenExtractor:
    """A new version that reads nothing."""

    def recipe(self, media_type: str) -> str:
        return "broken 3"

    def extract(self, name: str, raw: bytes, media_type: str) -> Extracted:
        raise ExtractionError(f"'{name}' is damaged", hint="Save it again")


def test_document_that_a_new_extractor_cannot_read_keeps_its_text_and_is_stale(bench: Workbench) -> None:
    _pages(bench)
    built = bench.build(extractor=BrokenExtractor())
    assert len(built.problems) == 2
    assert "$49" in bench.summary("2.html").text
    assert {level.kind: level.stale for level in bench.health().levels}[NodeKind.DOCUMENT_SUMMARY] == 2
    mended = bench.build()
    assert (mended.problems, mended.total.written) == ([], 0)


def test_text_of_unknown_origin_is_read_again_once(bench: Workbench) -> None:
    bench.fill(corpus(3))
    bench.build()
    bench.run_sql("update document_version set extraction_recipe = null")
    before = index(bench)["leaf"]
    assert bench.build().notes == [
        f"new extractor ({extraction_recipe(MARKDOWN, LibraryExtractor())}): 3 documents are read again"
    ]
    assert bench.build().notes == []
    assert index(bench)["leaf"] == before


def _words_not_in(bench: Workbench, language: str) -> int:
    """Leaves and summaries whose full text is in another language."""
    other = "select count(*) from {table} where search <> to_tsvector(cast(:language as regconfig), {text})"
    tables = {"leaf": "context || text", "summary": "text"}
    return sum(bench.value(other.format(table=t, text=x), language=language) for t, x in tables.items())


def test_new_language_is_indexed_without_a_call_or_an_embedding(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.fill(corpus(12, paragraphs=3))
    llm_bench.build()
    before = index(llm_bench)
    llm_bench.settings["retrieval"] = {"language": "german"}
    assert _words_not_in(llm_bench, "german") > 12
    note = "new language: full text in 'english' is indexed in 'german', without a call"
    assert (llm_bench.plan().nothing_to_do, llm_bench.plan().notes) == (True, (note,))
    llm_server.reset()
    assert llm_bench.embedder is not None
    llm_bench.embedder.texts.clear()
    built = llm_bench.build()
    total = built.total
    assert (built.notes, len(llm_server.chats), llm_bench.embedder.texts) == ([note], 0, [])
    assert (total.written, total.deleted, total.calls) == (0, 0, 0)
    assert _words_not_in(llm_bench, "german") == 0
    after = index(llm_bench)
    assert {name for name in after if after[name] != before[name]} == {"leaf", "summary"}


def test_build_of_one_shard_indexes_the_whole_dataset_in_a_new_language(bench: Workbench) -> None:
    bench.fill(corpus(6))
    bench.build()
    bench.settings["retrieval"] = {"language": "simple"}
    bench.build({0})
    assert _words_not_in(bench, "simple") == 0


def test_indexing_in_a_new_language_goes_on_where_it_was_interrupted(bench: Workbench) -> None:
    bench.fill(corpus(6))
    bench.build()
    bench.settings["retrieval"] = {"language": "german"}

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "full text" and done == total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.build(progress=interrupt)
    assert bench.value("select language from dataset") == "english"
    assert _words_not_in(bench, "german") > 0
    bench.build()
    assert _words_not_in(bench, "german") == 0


def test_query_is_in_the_language_of_the_index_until_a_build_changes_it(bench: Workbench) -> None:
    bench.fill({"a.md": "The prices are $49.\n"})
    bench.build()
    bench.settings["retrieval"] = {"language": "german"}
    assert api.open_search(bench.dataset, bench.record).language == "english"
    bench.build()
    assert api.open_search(bench.dataset, bench.record).language == "german"


def test_unknown_language_is_named_and_nothing_is_written(bench: Workbench) -> None:
    bench.fill(corpus(2))
    bench.build()
    before = bench.dump()
    bench.settings["retrieval"] = {"language": "klingon"}
    with pytest.raises(SettingsError, match="no text search configuration 'klingon'"):
        bench.build()
    assert bench.dump() == before
    bench.settings.clear()


def test_forgotten_dataset_leaves_nothing_behind_and_others_alone(loose_bench: Workbench, tmp_path: Path) -> None:
    bench = loose_bench
    bench.settings |= {"summaries": {"chunk": True}, "chunking": {"leaf_tokens": 64}}
    bench.fill(corpus(6, paragraphs=4))
    bench.build()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("Only here it costs $77.\n")
    table = {"source": str(tmp_path / "other")}
    other = api.open_dataset(parse({"datasets": {"other": table}}, folder=None).datasets[0], bench.record)
    sync_documents(other)
    cut_leaves(other)
    alone = {name: len(rows) for name, rows in bench.dump().items() if name == vectors_of(bench, "other")}
    gone = bench.record.forget(DATASET)
    assert (gone.documents, gone.leaves > 6, gone.summaries > 12) == (6, True, True)
    assert {name: len(rows) for name, rows in bench.dump().items() if rows} == {
        **dict.fromkeys(("dataset", "document", "document_version", "leaf", "version_leaf", "vector_table"), 1),
        "schema_version": 1,
        **alone,
    }
    assert bench.record.datasets() == [("other", str(tmp_path / "other"))]


def vectors_of(bench: Workbench, dataset: str) -> str:
    """The name of a dataset's vector table."""
    return str(bench.value("select name from vector_table where dataset = :dataset", dataset=dataset))


def test_forgotten_dataset_can_be_built_again(bench: Workbench) -> None:
    bench.fill(corpus(3))
    bench.build()
    ids = {path: bench.id_of(path) for path in bench.paths()}
    bench.record.forget(DATASET)
    bench.build()
    assert {path: bench.id_of(path) for path in bench.paths()} == ids


def test_pattern_that_matches_nothing_is_noted_by_build_and_plan(bench: Workbench) -> None:
    bench.settings["exclude"] = ("privat/**",)
    bench.fill({"a.md": "It costs $5.\n", "private/b.md": "It costs $6.\n"})
    note = "pattern 'privat/**' matches nothing in the source"
    assert note in bench.plan().notes
    assert note in bench.build().notes
