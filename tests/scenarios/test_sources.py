"""What stands between the source folder and the leaves: where it lies, what it lists, how it is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from overstory import api
from overstory.errors import SettingsError
from overstory.relocation import ensure_dataset
from overstory.settings import Dataset, parse
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
