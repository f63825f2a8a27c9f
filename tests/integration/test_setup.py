"""``scripts/setup`` in a checkout whose uv is a stand-in that notes what it was asked for: nothing is downloaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup"
VERSION = re.findall(r"^uv_version=(.+)$", SCRIPT.read_text(), re.M)[0]
UV = f"""#!/bin/sh
[ "$1" != --version ] || {{ echo "uv {VERSION}"; exit; }}
echo "$*" >> asked
case "$*" in *--check*) exit "$(cat differs)";; esac
mkdir -p .venv/bin
printf '#!/bin/sh\nexec "{sys.executable}" "$@"\n' > .venv/bin/python
chmod +x .venv/bin/python
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with uv in place and no environment yet."""
    folder = tmp_path.resolve()
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts" / "setup")
    (folder / ".tools" / "bin").mkdir(parents=True)
    (folder / ".tools" / "made-in").write_text(f"{folder}\n")
    uv = folder / ".tools" / "bin" / "uv"
    uv.write_text(UV)
    uv.chmod(0o755)
    (folder / "differs").write_text("1")
    return folder


def setup(checkout: Path, stderr: int = subprocess.PIPE) -> str:
    command = [str(checkout / "scripts" / "setup")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, text=True, check=True)
    return done.stdout + (done.stderr or "")


def asked(checkout: Path) -> list[str]:
    return (checkout / "asked").read_text().splitlines()


def test_first_setup_says_that_packages_are_coming(checkout: Path) -> None:
    assert "setup: getting the packages of uv.lock" in setup(checkout)


def test_setup_of_a_changed_lock_file_says_so(checkout: Path) -> None:
    setup(checkout)
    assert "setup: bringing .venv in line with uv.lock" in setup(checkout)


def test_setup_with_nothing_to_do_is_silent_and_only_looks(checkout: Path) -> None:
    setup(checkout)
    (checkout / "asked").unlink()
    (checkout / "differs").write_text("0")
    assert setup(checkout) == ""
    assert asked(checkout) == ["sync --frozen --quiet --check"]


def test_uv_shows_no_progress_in_a_log(checkout: Path) -> None:
    setup(checkout)
    assert "--quiet" in asked(checkout)[-1]


def test_uv_shows_its_progress_on_a_terminal(checkout: Path) -> None:
    ours, theirs = os.openpty()
    setup(checkout, stderr=theirs)
    os.close(theirs)
    os.close(ours)
    assert "--quiet" not in asked(checkout)[-1]
