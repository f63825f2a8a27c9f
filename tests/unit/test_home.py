from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from overstory.errors import SettingsError
from overstory.home import create_home, dagster_home, find_home, log_folder, refuse_inside


@pytest.mark.parametrize(
    ("settings_dir", "environ", "home"),
    [
        ("/project", {"OVERSTORY_HOME": "/data/index", "HOME": "/home/a"}, "/data/index"),
        ("/project", {"OVERSTORY_HOME": "~/index", "HOME": "/home/a"}, "/home/a/index"),
        ("/project", {"HOME": "/home/a"}, "/project/.overstory"),
        ("/project", {"OVERSTORY_HOME": " "}, "/project/.overstory"),
        (None, {"XDG_DATA_HOME": "/xdg", "HOME": "/home/a"}, "/xdg/overstory"),
        (None, {"XDG_DATA_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/share/overstory"),
        (None, {"HOME": "/home/a"}, "/home/a/.local/share/overstory"),
    ],
)
def test_the_home_is_the_variable_or_beside_the_settings_or_the_users(
    settings_dir: str | None, environ: dict[str, str], home: str
) -> None:
    assert find_home(Path(settings_dir) if settings_dir else None, environ) == Path(home)


def test_a_relative_home_counts_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_home(None, {"OVERSTORY_HOME": "index"}) == tmp_path / "index"


def test_without_any_variable_the_error_names_the_one_to_set() -> None:
    with pytest.raises(SettingsError, match="OVERSTORY_HOME"):
        find_home(None, {})


@pytest.mark.parametrize("home", ["docs", "docs/.overstory", "docs/a/../b", "link/x"])
def test_a_home_inside_a_source_is_refused(tmp_path: Path, home: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    with pytest.raises(SettingsError, match="lies inside the source folder"):
        refuse_inside(tmp_path / home, [tmp_path / "other", tmp_path / "docs"])


@pytest.mark.parametrize("home", [".overstory", "docs2", "docs/../x"])
def test_a_home_beside_the_sources_is_accepted(tmp_path: Path, home: str) -> None:
    refuse_inside(tmp_path / home, [tmp_path / "docs"])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_created_is_closed_to_others(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    create_home(home)
    # Others may pass through a home of root's: the server in it runs as one of them.
    expected = 0o711 if os.geteuid() == 0 else 0o700
    assert (mode(home), mode(dagster_home(home)), mode(log_folder(home))) == (expected, 0o700, 0o700)


def test_what_exists_keeps_its_mode(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o750)
    create_home(home)
    create_home(home)
    assert mode(home) == 0o750


def test_a_new_home_is_ignored_by_git(tmp_path: Path) -> None:
    create_home(tmp_path / "home")
    assert (tmp_path / "home" / ".gitignore").read_text() == "*\n"


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(SettingsError, match="cannot be created"):
        create_home(tmp_path / "home")
