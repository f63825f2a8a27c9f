"""The command line as a user types it: exit statuses, one line for a mistake, JSON for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("overstory"))


class Terminal:
    """Runs commands in a folder, with a home and a database of their own."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.environ = {
            **os.environ,
            "OVERSTORY_HOME": str(folder.parent / "home"),
            "OVERSTORY_DATABASE_URL": database_url,
            "COLUMNS": "80",
        }

    def __call__(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture
def terminal(tmp_path: Path, database_url: str) -> Terminal:
    folder = tmp_path / "work"
    folder.mkdir()
    return Terminal(folder, database_url)


def write(folder: Path, **documents: str) -> Path:
    source = folder / "docs"
    source.mkdir(exist_ok=True)
    for name, text in documents.items():
        (source / f"{name}.md").write_text(text)
    return source


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error of a command that failed."""
    (line,) = done.stderr.splitlines()
    assert line.startswith("overstory: ")
    assert done.stdout == ""
    return line


MISTAKES: Sequence[tuple[Sequence[str], int, str]] = (
    (["build", "nowhere"], 2, "nowhere does not exist"),
    (["build", "file.txt"], 2, "is not a folder"),
    (["build"], 2, "no overstory.toml"),
    (["build", "--nope"], 2, "--nope"),
    (["nope"], 2, "nope"),
    (["search"], 2, "query"),
    (["search", "x"], 2, "Nothing has been built"),
    (["show", "x"], 2, "Nothing has been built"),
    (["status"], 2, "Nothing has been built"),
)


@pytest.mark.parametrize(("arguments", "status", "words"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistake_is_told_in_one_line(terminal: Terminal, arguments: list[str], status: int, words: str) -> None:
    (terminal.folder / "file.txt").write_text("text")
    done = terminal(*arguments)
    assert done.returncode == status
    assert words in complaint(done)


@pytest.mark.parametrize(
    ("line", "words"),
    [("leaf_tokns = 256", "leaf_tokns"), ("leaf_tokens = 1", "leaf_tokens"), ("leaf_tokens = = 1", "is not TOML")],
)
def test_case_57_wrong_setting_is_named(terminal: Terminal, line: str, words: str) -> None:
    write(terminal.folder, a="text")
    (terminal.folder / "overstory.toml").write_text(f'[datasets.d]\nsource = "docs"\n[datasets.d.chunking]\n{line}\n')
    done = terminal("build")
    assert done.returncode == 2
    assert words in complaint(done)


def test_database_that_does_not_answer_is_told_in_one_line(terminal: Terminal) -> None:
    source = write(terminal.folder, a="text")
    done = terminal("status", OVERSTORY_DATABASE_URL="postgresql://user:secret@127.0.0.1:1/none")
    assert done.returncode == 1
    assert "does not answer" in complaint(done)
    assert "secret" not in done.stderr
    assert source.exists()


def test_partial_build_exits_with_three_and_names_the_document(terminal: Terminal) -> None:
    source = write(terminal.folder, a="Pro costs $49 since 2025-07-01.")
    (source / "b.bin").write_bytes(b"\x00\x01\x02\xff" * 50)
    done = terminal("build", "docs")
    assert done.returncode == 3
    assert "'b.bin'" in done.stdout


def test_build_search_show_and_status_speak_json(terminal: Terminal) -> None:
    write(terminal.folder, a="Pro costs $49 since 2025-07-01.", b="Plans renew every 30 days.")
    planned = json.loads(terminal("plan", "docs", "--json").stdout)
    assert planned["documents"] == {"new": 2}
    built = json.loads(terminal("build", "docs", "--json").stdout)
    assert built["schema_version"] == 1
    assert not built["partial"]
    found = json.loads(terminal("search", "price of Pro", "--json").stdout)
    assert "$49" in found["hits"][0]["text"]
    shown = json.loads(terminal("show", found["hits"][0]["node_id"], "--json").stdout)
    assert shown["path"] == "a.md"
    summary = json.loads(terminal("show", "a.md", "--json").stdout)
    assert (summary["kind"], summary["start"], summary["end"]) == (
        "document_summary",
        0,
        len("Pro costs $49 since 2025-07-01."),
    )
    status = json.loads(terminal("status", "--json").stdout)
    assert status["coverage"] == 1
    one = json.loads(terminal("status", "a.md", "--json").stdout)
    assert one["last_run_status"] == "success"


def test_escape_sequences_of_documents_do_not_reach_the_terminal(terminal: Terminal) -> None:
    write(terminal.folder, a="Price \x9b31m [bold]$49[/bold] \u202eback\u202c since 2025-07-01.")
    terminal("build", "docs")
    done = terminal("search", "price")
    assert "[bold]$49[/bold]" in done.stdout
    assert not {"\x1b", "\x9b", "\u202e"} & set(done.stdout)
