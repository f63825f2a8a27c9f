"""The command line over the several datasets of one settings file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overstory.api import load_settings
from tests.conftest import DatabaseMaker
from tests.integration.test_cli import Terminal, complaint


def settings(folder: Path, **sources: str) -> None:
    (folder / "overstory.toml").write_text(
        "".join(f'[datasets.{name}]\nsource = "{source}"\n' for name, source in sources.items())
    )


@pytest.fixture(scope="module")
def terminal(make_database: DatabaseMaker, tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal in a folder where ``one`` of two datasets has been built."""
    folder = tmp_path_factory.mktemp("datasets") / "work"
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
        (folder / name / f" {name}.md").write_text(f"Plan {name} costs $49 since 2025-07-01.\n")
    settings(folder, one="one", two="two")
    terminal = Terminal(folder, make_database())
    done = terminal("build", "--dataset", "one")
    assert done.returncode == 0, done.stderr
    return terminal


@pytest.fixture(autouse=True)
def _both(terminal: Terminal) -> None:
    settings(terminal.folder, one="one", two="two")
    assert len(load_settings(terminal.folder).datasets) == 2


def test_status_tells_of_all_datasets_and_what_to_do_where_nothing_was_built(terminal: Terminal) -> None:
    done = terminal("status")
    assert done.returncode == 0
    assert done.stdout.startswith("one: 1 documents ")
    assert done.stdout.endswith("two: no documents have been built yet. Run: overstory build\n")
    assert "coverage" not in done.stdout.split("two:")[1]


def test_status_of_several_datasets_is_an_array_for_programs(terminal: Terminal) -> None:
    assert [one["dataset"] for one in json.loads(terminal("status", "--json").stdout)] == ["one", "two"]
    assert json.loads(terminal("status", "-d", "one", "--json").stdout)["dataset"] == "one"


@pytest.mark.parametrize("arguments", [["search", "price"], ["show", "one.md"], ["status", "one.md"]])
def test_command_on_one_dataset_asks_which(terminal: Terminal, arguments: list[str]) -> None:
    done = terminal(*arguments)
    assert done.returncode == 2
    assert complaint(done).endswith("No dataset was named. Choose one with --dataset: one, two")


def test_wrong_source_is_told_without_sending_anybody_to_move_it(terminal: Terminal) -> None:
    settings(terminal.folder, one="nowhere", two="two")
    done = terminal("status")
    assert done.returncode == 2
    assert "two: no documents" in done.stdout
    assert f"There is nothing at {terminal.folder}/nowhere: correct 'source'" in done.stderr
    assert "--moved" not in done.stderr


def test_dataset_without_its_folder_does_not_keep_others_from_being_built(terminal: Terminal) -> None:
    settings(terminal.folder, one="one", three="nowhere")
    done = terminal("build")
    assert done.returncode == 2
    assert "one: built" in done.stdout
    assert f"overstory: three: The folder {terminal.folder}/nowhere does not exist" in done.stderr


def test_document_whose_path_begins_with_a_space_is_shown(terminal: Terminal) -> None:
    shown = json.loads(terminal("show", " one.md", "-d", "one", "--json").stdout)
    assert shown["path"] == " one.md"


def test_last_run_of_a_document_is_shown_with_how_to_see_it(terminal: Terminal) -> None:
    done = terminal("status", " one.md", "-d", "one")
    assert "(start it with 'overstory dev')" in " ".join(done.stdout.split())


def test_hit_says_how_it_was_found(terminal: Terminal) -> None:
    assert "found by its own text" in terminal("search", "price of plan one", "-d", "one").stdout
