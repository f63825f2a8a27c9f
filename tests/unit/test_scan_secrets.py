"""The values are made up and put together here, so that the scanner finds none in this file."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "scan_secrets.py"
FIND = runpy.run_path(str(SCRIPT))["find_secrets"]

SECRETS = {
    "plain provider key": "sk-" + "aB3d" * 12,
    "project key": "sk-" + "proj-" + "aB3d-_eF" * 8,
    "key with a version": "sk-" + "ant-" + "api03-" + "aB3d-" * 10,
    "router key": "sk-" + "or-" + "v1-" + "0a1b" * 16,
    "key id": "AKIA" + "Z2Y3" * 4,
    "temporary key id": "ASIA" + "Z2Y3" * 4,
    "secret key in a file": "aws_secret_" + "access_key = " + "aB3/" * 10,
    "secret key in JSON": '"aws' + 'SecretAccessKey": "' + "aB3+" * 10 + '"',
    "classic token": "ghp_" + "aB3d" * 9,
    "server token": "ghs_" + "aB3d" * 9,
    "fine-grained token": "github_" + "pat_" + "aB3d" * 5 + "_" + "aB3d" * 14,
    "bot token": "xoxb-" + "123456789012-" + "aB3d" * 6,
    "rotated token": "xoxe-" + "1-" + "aB3d" * 9,
    "app token": "xapp-" + "1-A0B1C2-" + "0a1b" * 8,
    "webhook": "https://hooks.slack." + "com/services/T0A1B2C3/B0A1B2C3/" + "aB3d" * 6,
    "header": "Authorization: Bearer " + "aB3d._~+" * 4,
    "web token": "bearer " + "eyJhbGciOi." + "aB3d" * 8,
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
}

HARMLESS = {
    "placeholder": "export OPENAI_API_KEY=sk-...",
    "short key of a test": "sk-secret-of-the-test",
    "words with dashes": "sk-" + "a-name-of-words-alone-that-is-very-long",
    "task name": "task-" + "0a1b" * 12,
    "hash": "0a1b" * 16,
    "bearer in prose": "The bearer of internationalization-responsibilities decides",
    "bearer variable": 'headers["authorization"] == f"Bearer {SECRET}"',
    "name of a variable": "aws_secret_" + "access_key is read from the environment",
}


@pytest.mark.parametrize("name", SECRETS)
def test_secret_is_told_by_its_line_and_not_repeated(tmp_path: Path, name: str) -> None:
    file = tmp_path / "file.txt"
    file.write_text(f"first\nvalue: {SECRETS[name]}\nlast\n")
    assert FIND(file) == [f"{file}:2"]


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_secret_passes(tmp_path: Path, name: str) -> None:
    file = tmp_path / "file.txt"
    file.write_text(HARMLESS[name])
    assert FIND(file) == []


def test_scanner_does_not_trip_over_its_own_tests() -> None:
    assert FIND(Path(__file__)) + FIND(SCRIPT) == []
