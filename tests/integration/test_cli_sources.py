"""What the command line says and does about the folder of a dataset."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tests.integration.test_cli import COMMAND, Terminal, complaint, write

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture
def terminal(tmp_path: Path, database_url: str) -> Terminal:
    folder = tmp_path / "work"
    folder.mkdir()
    return Terminal(folder, database_url)


def work(done: str) -> list[int]:
    """(written, deleted, embedded, calls) of a build, summed over its stages."""
    stages = json.loads(done)["stages"]
    return [sum(stage[what] for stage in stages) for what in ("written", "deleted", "embedded", "calls")]


def test_moved_folder_is_built_on_for_nothing_once_somebody_says_so(terminal: Terminal) -> None:
    source = write(terminal.folder, a="Pro costs $49 since 2025-07-01.", b="Plans renew every 30 days.")
    terminal("build", "docs")
    moved = terminal.folder / "manual"
    shutil.move(source, moved)
    refused = terminal("build", "manual", "--dataset", "docs")
    assert refused.returncode == 2
    assert f"overstory build {moved} --dataset docs --moved" in complaint(refused)
    planned = json.loads(terminal("plan", "manual", "--dataset", "docs", "--moved", "--json").stdout)
    assert planned["nothing_to_do"]
    done = terminal("build", "manual", "--dataset", "docs", "--moved", "--json")
    assert (done.returncode, work(done.stdout)) == (0, [0, 0, 0, 0])
    assert terminal("build", "manual", "--dataset", "docs").returncode == 0


def test_moved_folder_of_an_unknown_dataset_is_told_which_are_known(terminal: Terminal) -> None:
    source = write(terminal.folder, a="Pro costs $49 since 2025-07-01.")
    terminal("build", "docs")
    shutil.move(source, terminal.folder / "manual")
    done = terminal("build", "manual", "--moved")
    assert done.returncode == 2
    assert f"Known: docs ({source})" in complaint(done)


def test_project_that_moves_with_its_settings_needs_no_option(terminal: Terminal) -> None:
    project = terminal.folder / "project"
    project.mkdir()
    write(project, a="Pro costs $49 since 2025-07-01.")
    (project / "overstory.toml").write_text('[datasets.d]\nsource = "docs"\n')
    terminal.folder = project
    terminal("build")
    terminal.folder = project.rename(project.with_name("renamed"))
    assert terminal("status").returncode == 0
    done = terminal("build", "--json")
    assert (done.returncode, work(done.stdout)) == (0, [0, 0, 0, 0])


def test_withheld_deletions_are_told_and_made_when_somebody_confirms_them(terminal: Terminal) -> None:
    source = write(terminal.folder, a="Pro costs $49 since 2025-07-01.", b="Plans renew every 30 days.")
    terminal("build", "docs")
    for path in source.iterdir():
        path.unlink()
    line = (
        "2 of 2 documents are gone from the source: their deletion is withheld. "
        "If it is meant: overstory build DIR --confirm-deletions"
    )
    assert json.loads(terminal("plan", "docs", "--json").stdout)["notes"] == [line]
    assert json.loads(terminal("build", "docs", "--json").stdout)["notes"] == [line]
    assert json.loads(terminal("status", "--json").stdout)["notes"] == [line]
    done = terminal("build", "docs", "--confirm-deletions", "--json")
    assert (done.returncode, json.loads(done.stdout)["notes"]) == (0, [])
    status = json.loads(terminal("status", "--json").stdout)
    assert (status["documents"], status["notes"]) == (0, [])


def test_dataset_is_forgotten_only_where_somebody_says_yes(terminal: Terminal) -> None:
    source = write(terminal.folder, a="Pro costs $49 since 2025-07-01.")
    terminal("build", "docs")
    refused = terminal("forget", "docs")
    assert refused.returncode == 2
    assert "Say so with --yes" in complaint(refused)
    unknown = terminal("forget", "nope", "--yes")
    assert (unknown.returncode, "Known datasets: docs" in complaint(unknown)) == (2, True)
    done = terminal("forget", "docs", "--yes", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    jsonschema.validate(told, json.loads((SCHEMAS / "forget.schema.json").read_text(encoding="utf-8")))
    assert (told["dataset"], told["documents"], told["leaves"], told["summaries"]) == ("docs", 1, 1, 1)
    assert (source / "a.md").exists()
    assert "Nothing has been built" in complaint(terminal("status"))


def test_person_at_a_terminal_is_asked_before_a_dataset_is_forgotten(terminal: Terminal) -> None:
    write(terminal.folder, a="Pro costs $49 since 2025-07-01.")
    terminal("build", "docs")
    assert typed(terminal, "n\n", "forget", "docs") == (1, "Nothing was removed")
    assert typed(terminal, "y\n", "forget", "docs")[0] == 0


def typed(terminal: Terminal, answer: str, *arguments: str) -> tuple[int, str]:
    """(exit status, last line) of a command at a terminal of its own, where somebody types an answer."""
    controller, device = pty.openpty()
    os.write(controller, answer.encode())
    done = subprocess.run(
        [COMMAND, *arguments],
        cwd=terminal.folder,
        env=terminal.environ,
        stdin=device,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(device)
    os.close(controller)
    return done.returncode, done.stdout.strip().splitlines()[-1]
