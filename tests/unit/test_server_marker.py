from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overstory.errors import SettingsError
from overstory.home import create_home, dagster_home
from overstory.server_marker import FILE, Server, refuse_served, server_of, serving

ADDRESS = "http://127.0.0.1:3000"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    create_home(tmp_path / "home")
    return tmp_path / "home"


def test_home_is_served_while_the_block_lasts(home: Path) -> None:
    assert server_of(home) is None
    with serving(home, ADDRESS):
        assert server_of(home) == Server(os.getpid(), ADDRESS)
    assert server_of(home) is None


def test_second_server_is_refused_and_told_of_the_first(home: Path) -> None:
    with serving(home, ADDRESS):
        with pytest.raises(SettingsError, match=rf"pid {os.getpid()}\) at {ADDRESS}"):
            refuse_served(home)
        with pytest.raises(SettingsError, match="serves this home"), serving(home, ADDRESS):
            pass


def test_server_that_was_killed_serves_no_longer(home: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from overstory.server_marker import serving\n"
        "with serving(Path(sys.argv[1]), 'x'): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(home)], check=False)
    assert (dagster_home(home) / FILE).read_text() != ""
    assert server_of(home) is None


def test_home_without_folders_is_served_by_nobody(tmp_path: Path) -> None:
    assert server_of(tmp_path) is None
