from __future__ import annotations

import subprocess
import sys

import pytest

import overstory
from overstory.cli import reading
from overstory.cli.app import _run
from overstory.cli.terminal import complain


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run([]) == 0
    told = capsys.readouterr()
    assert "search" in told.out
    assert told.err == ""


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["--version"]) == 0
    assert capsys.readouterr().out == f"overstory {overstory.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["buidl"], "No such command 'buidl'. Did you mean 'build'? See: overstory --help"),
        (["search"], "Missing argument 'query'. See: overstory search --help"),
        (["plan", "--zzz"], "No such option: --zzz. See: overstory plan --help"),
    ],
)
def test_mistake_in_the_arguments_names_the_help_to_read(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(arguments) == 2
    assert capsys.readouterr().err == f"overstory: {line}\n"


def test_interruption_of_any_command_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "search", interrupt)
    assert _run(["search", "x"]) == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("overstory: Interrupted.")


def test_error_is_cut_between_words_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    words = "The database does not answer: nothing listens. Check OVERSTORY_DATABASE_URL, or run 'overstory dev'"
    complain(words)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == f"overstory: {words}"


def test_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "overstory", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"overstory {overstory.__version__}\n"
