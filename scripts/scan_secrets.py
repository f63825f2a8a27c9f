"""Fails when a file holds what looks like a secret: ``python scripts/scan_secrets.py [FILE ...]``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SECRET = re.compile(
    r"""(?x)
    \bsk-(?=[\w-]*\d)[\w-]{32,}                       # model providers: sk-…, sk-proj-…, sk-ant-…, sk-or-…
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                    # AWS: the id of a key
    | (?i:aws_?secret_?(?:access_?)?key)\W{1,6}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])
    | \bgh[pousr]_[A-Za-z0-9]{36,}                     # GitHub
    | \bgithub_pat_[A-Za-z0-9_]{50,}
    | \bxox[a-z]-(?:\d-)?[A-Za-z0-9-]{20,}             # Slack
    | \bxapp-[A-Za-z0-9-]{20,}
    | \bhooks\.slack\.com/services/T\w+/B\w+/\w{16,}
    | \bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])         # Google
    | \bhf_[A-Za-z0-9]{34}\b                           # Hugging Face
    | (?i:\bbearer[ ]+)(?=[\w.~+/-]*\d)[\w.~+/-]{24,}  # whatever is sent as a token: with a digit, so no prose
    | -----BEGIN\ (?:[A-Z]+\ )*PRIVATE\ KEY-----
    """
)


def tracked_files() -> list[Path]:
    """The files of the checkout that git knows; none where there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no input in it
    return [ROOT / name for name in listing.stdout.split("\0") if name]


def find_secrets(path: Path) -> list[str]:
    """``path:line`` of every line with a secret; binary files are read as they are."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [f"{path}:{number}" for number, line in enumerate(lines, 1) if SECRET.search(line)]


def main(arguments: list[str]) -> str | None:
    """What to tell, or None if there is nothing."""
    try:
        files = [Path(argument) for argument in arguments] or tracked_files()
    except FileNotFoundError:
        return None
    found = [place for path in files for place in find_secrets(path)]
    return "These lines look like secrets:\n" + "\n".join(found) if found else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
