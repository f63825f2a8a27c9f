from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from overstory import api
from overstory.errors import SettingsError, SourceError
from overstory.settings import FILE_NAME, for_folder


def test_import_of_the_package_loads_no_heavy_library() -> None:
    heavy = ("numpy", "pandas", "openai", "sqlalchemy", "psycopg", "dagster")
    code = f"import sys, overstory, overstory.api; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_settings_file_wins_over_a_folder(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('[datasets.found]\nsource = "docs"\n')
    assert api.load_settings(tmp_path, tmp_path / "other").datasets[0].name == "found"


def test_folder_alone_is_enough(tmp_path: Path) -> None:
    assert api.load_settings(tmp_path, tmp_path / "docs", "mine").datasets[0].name == "mine"


def test_neither_file_nor_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no overstory\.toml here or above\. Name a folder"):
        api.load_settings(tmp_path)


def test_home_is_made_beside_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('[datasets.found]\nsource = "docs"\n')
    home = api.home_of(api.load_settings(tmp_path), {})
    assert home == tmp_path / ".overstory"
    assert home.is_dir()


def test_home_inside_a_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="lies inside the source folder"):
        api.home_of(for_folder(tmp_path), {"OVERSTORY_HOME": str(tmp_path / "home")})
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("name", "paid"), [("wordllama", False), ("openai:text-embedding-3-small", True)])
def test_embedder_is_that_of_the_settings_and_loads_nothing_yet(tmp_path: Path, name: str, paid: bool) -> None:
    dataset = for_folder(tmp_path).datasets[0]
    chosen = dataset.model_copy(update={"embedding": dataset.embedding.model_copy(update={"name": name})})
    assert api.open_embedding(chosen).paid is paid


def test_source_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        api.open_source(for_folder(tmp_path / "nowhere").datasets[0]).check()
