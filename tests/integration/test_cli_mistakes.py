"""What a user does wrong, or what is wrong around the program: one line that says what, to what, and what to do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import overstory.cli.building
import overstory.cli.reading  # noqa: F401  (loaded before another user, who may not read the checkout, runs it)
from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.record import PostgresRecord
from overstory.cli.app import _run
from overstory.errors import BuildLocked
from tests import llm_behaviors as behaviors
from tests.conftest import DatabaseMaker, discard
from tests.integration.test_cli import COMMAND, Terminal, complaint
from tests.llm_server import LLMServer, llm_server
from tests.scenarios.corpora import document

__all__ = ["llm_server"]

NOBODY = 65534
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture(scope="module")
def built(make_database: DatabaseMaker, tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal in a folder with a dataset that has been built; tests only read it."""
    folder = tmp_path_factory.mktemp("built") / "work"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("Pro costs $49 since 2025-07-01.\n")
    (folder / "docs" / "b.md").write_text("Plans renew every 30 days.\n")
    terminal = Terminal(folder, make_database())
    done = terminal("build", "docs")
    assert done.returncode == 0, done.stderr
    return terminal


MISTAKES: Sequence[tuple[Sequence[str], str, str]] = (
    (["search", ""], "The query is empty", "Ask a question"),
    (["search", " \t"], "The query is empty", "Ask a question"),
    (["search", "x", "-d", "nope"], "no dataset 'nope'", "docs"),
    (["search", "x", "--leaves", "0", "--summaries", "0"], "0 leaves and 0 summaries", "at least one"),
    (["search", "x", "--leaves", "many"], "--leaves", "overstory search --help"),
    (["show", "ffffffff"], "no node 'ffffffff'", "Give an id"),
    (["show", ""], "no node ''", "Give an id"),
    (["show", "fff"], "no node 'fff'", "at least 4 digits"),
    (["show", "a\nb.md"], "no node 'a", "Give an id"),
    (["status", "nowhere.md"], "no document 'nowhere.md'", "Give its path"),
    (["build", "docs", "--document", "nowhere.md"], "no document 'nowhere.md'", "Give its path"),
    (["build", "docs", "-d", "Not A Name"], "Not A Name", "README"),
    (["dev", "docs", "--port", "99999"], "--port", "overstory dev --help"),
)


@pytest.mark.parametrize(("arguments", "what", "hint"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistake_on_a_built_index_is_told_with_what_to_do(
    built: Terminal, arguments: list[str], what: str, hint: str
) -> None:
    done = built(*arguments)
    line = complaint(done)
    assert done.returncode == 2
    assert what in line
    assert hint in line


COMMANDS: Sequence[tuple[str, Sequence[str]]] = (
    ("build", ["build", "docs"]),
    ("plan", ["plan", "docs"]),
    ("status", ["status"]),
    ("status-document", ["status", "a.md"]),
    ("search", ["search", "price of Pro"]),
    ("show", ["show", "a.md"]),
    ("verify", ["verify"]),
)


@pytest.mark.parametrize(("schema", "arguments"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_json_is_what_the_published_schema_says(built: Terminal, schema: str, arguments: list[str]) -> None:
    published: dict[str, Any] = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    done = built(*arguments, "--json")
    validator = jsonschema.Draft202012Validator(published)
    validator.check_schema(published)
    validator.validate(json.loads(done.stdout))
    assert done.returncode == 0


def test_each_published_schema_has_a_command() -> None:
    # test_cli_sources.py and test_cli_purge.py: they would take away what the other tests read.
    elsewhere = {"forget", "purge"}
    assert {name for name, _ in COMMANDS} | elsewhere == {path.name.split(".")[0] for path in SCHEMAS.iterdir()}


def test_port_in_use_is_named(built: Terminal) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = built("dev", "docs", "--port", str(port))
    assert done.returncode == 2
    assert f"overstory: Port {port}" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["build", "plan", "dev"])
def test_folder_that_does_not_exist_is_named_before_anything_is_made(terminal: Terminal, command: str) -> None:
    done = terminal(command, "nowhere")
    assert done.returncode == 2
    assert f"The folder {terminal.folder}/nowhere does not exist" in complaint(done)
    assert not Path(terminal.environ["OVERSTORY_HOME"]).exists()


def test_folder_of_another_dataset_of_the_same_name_is_refused(built: Terminal) -> None:
    other = built.folder / "elsewhere" / "docs"
    other.mkdir(parents=True, exist_ok=True)
    (other / "c.md").write_text("Another text.\n")
    done = built("build", str(other))
    assert done.returncode == 2
    assert "'docs' is built from" in complaint(done)
    assert "--dataset" in done.stderr


def test_case_57_settings_without_any_option_have_the_documented_defaults(terminal: Terminal) -> None:
    (terminal.folder / "docs").mkdir()
    (terminal.folder / "overstory.toml").write_text('[datasets.d]\nsource = "docs"\nsummarizer = {}\nbudget = {}\n')
    planned = json.loads(terminal("plan", "--json").stdout)
    assert planned["dataset"] == "d"


@pytest.fixture
def terminal(tmp_path: Path, database_url: str) -> Terminal:
    folder = tmp_path / "work"
    folder.mkdir()
    return Terminal(folder, database_url)


@pytest.fixture
def with_model(terminal: Terminal, llm_server: LLMServer) -> Terminal:
    """A terminal in a folder whose documents are summarized by the local model server."""
    (terminal.folder / "docs").mkdir()
    for number in range(6):
        (terminal.folder / "docs" / f"{number}.md").write_text(document("music", number, paragraphs=6))
    (terminal.folder / "overstory.toml").write_text(
        '[datasets.d]\nsource = "docs"\nchunking = {leaf_tokens = 64}\n[datasets.d.summarizer]\nkind = "openai"\n'
        f'model = "stub"\nbase_url = "{llm_server.base_url}"\nconcurrency = 2\nmax_attempts = 1\n'
    )
    terminal.environ["OPENAI_API_KEY"] = "sk-secret-of-the-test"
    return terminal


def test_wrong_key_is_told_without_the_key(with_model: Terminal, llm_server: LLMServer) -> None:
    llm_server.default = behaviors.error(401, code="invalid_api_key", message="Incorrect key: sk-secret-of-the-test")
    done = with_model("build")
    assert done.returncode == 1
    assert "api_key_env" in _last_line(done)
    assert "sk-secret" not in done.stderr + done.stdout


def test_missing_key_is_told_before_any_call(with_model: Terminal, llm_server: LLMServer) -> None:
    settings = with_model.folder / "overstory.toml"
    settings.write_text(settings.read_text().replace(llm_server.base_url, "https://api.example.invalid/v1"))
    done = with_model("build", OPENAI_API_KEY="")
    assert done.returncode != 0
    assert "OPENAI_API_KEY" in _last_line(done)


def test_second_build_is_refused_while_the_first_one_runs(with_model: Terminal, llm_server: LLMServer) -> None:
    url = sqlalchemy_url(with_model.environ["OVERSTORY_DATABASE_URL"], "psycopg")
    llm_server.latency_seconds = 1.0
    first = subprocess.Popen(
        [COMMAND, "build"],
        cwd=with_model.folder,
        env=with_model.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    llm_server.wait_for(lambda: bool(llm_server.chats))
    record = PostgresRecord.open(url)
    with pytest.raises(BuildLocked), record.lock("d"):
        pass
    llm_server.latency_seconds = 0.0
    assert first.wait(timeout=60) == 0
    with record.lock("d"):
        second = with_model("build")
    record.close()
    assert second.returncode == 1
    assert "Another build of dataset 'd' is running" in complaint(second)
    assert len(llm_server.chats) == 7


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The error of a build, which comes after its progress."""
    line = done.stderr.splitlines()[-1]
    assert line.startswith("overstory: ")
    assert "Traceback" not in done.stderr
    return line


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="overstory-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_another_user(folder: Path, *arguments: str, **environ: str) -> tuple[int, str]:
    """Exit status and standard error of a command that an ordinary user gives in a folder."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        told = StringIO()
        status = 70
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.chdir(folder)
            os.environ.update(environ)
            with redirect_stderr(told), redirect_stdout(told):
                status = _exit_status(lambda: _run(arguments))
        finally:
            os.write(writer, told.getvalue().encode())
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        told_text = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told_text


def _exit_status(run: Callable[[], int]) -> int:
    try:
        return run()
    except SystemExit as end:
        return int(end.code or 0)


def test_home_that_cannot_be_written_is_named(open_folder: Path) -> None:
    (open_folder / "docs").mkdir()
    closed = open_folder / "closed"
    closed.mkdir(mode=0o555)
    status, told = as_another_user(open_folder, "plan", "docs", OVERSTORY_HOME=str(closed / "home"))
    assert (status, len(told.splitlines())) == (2, 1)
    assert told == (
        f"overstory: The home folder {closed}/home cannot be created: Permission denied. "
        "Make it writable or set OVERSTORY_HOME to a folder that is\n"
    )


def test_settings_that_cannot_be_read_are_named(open_folder: Path) -> None:
    settings = open_folder / "overstory.toml"
    settings.write_text('[datasets.d]\nsource = "docs"\n')
    settings.chmod(0)
    status, told = as_another_user(open_folder, "plan")
    assert (status, len(told.splitlines())) == (2, 1)
    assert f"The settings file {settings} cannot be read: Permission denied" in told


def test_home_inside_the_source_is_refused(terminal: Terminal) -> None:
    (terminal.folder / "docs").mkdir()
    done = terminal("build", "docs", OVERSTORY_HOME=str(terminal.folder / "docs" / "home"))
    assert done.returncode == 2
    assert "lies inside the source folder" in complaint(done)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://localhost/x", "is not the URL of a Postgres database"),
        ("postgresql://u:secret@127.0.0.1:1/x", "does not answer"),
    ],
)
def test_wrong_database_is_told_by_a_build(terminal: Terminal, url: str, words: str) -> None:
    (terminal.folder / "docs").mkdir()
    (terminal.folder / "docs" / "a.md").write_text("A text.\n")
    done = terminal("build", "docs", OVERSTORY_DATABASE_URL=url)
    assert done.returncode in (1, 2)
    assert words in complaint(done)
    assert "secret" not in done.stderr


def test_leftover_pid_and_lock_files_do_not_keep_the_server_from_starting(new_home: Path, open_folder: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "OVERSTORY_DATABASE_URL"}
    environ["OVERSTORY_HOME"] = str(new_home)
    (open_folder / "docs").mkdir()
    (open_folder / "docs" / "a.md").write_text("Pro costs $49.\n")

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([COMMAND, *arguments], cwd=open_folder, env=environ, capture_output=True, text=True)

    try:
        assert command("build", "docs").returncode == 0
        assert command("stop").returncode == 0
        for pid_file in new_home.rglob("PG_VERSION"):
            (pid_file.parent / "postmaster.pid").write_text("not a number\n\x00")
            break
        for lock in new_home.rglob("*.lock"):
            lock.write_text("garbage")
        done = command("search", "price")
    finally:
        discard(new_home)
    assert done.returncode == 0, done.stderr
    assert "$49" in done.stdout
