"""Databases for tests: one embedded server for the whole run, a fresh database for each test that asks."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
from hypothesis import settings

from overstory.adapters.embedded_postgres import ServerAddress, remove, start
from overstory.errors import EmbeddedServerError

settings.register_profile("dev", max_examples=50, deadline=None)
# The same examples in every run, so that what fails there fails everywhere.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

RAM = Path("/dev/shm")
RAM_BYTES = 4 * 2**30


def _homes() -> Path:
    # In memory where there is plenty: a data folder is a thousand files, each written to disk for safety.
    roomy = RAM.is_dir() and shutil.disk_usage(RAM).free >= RAM_BYTES
    return (RAM if roomy else Path("/tmp")) / f"overstory-tests-{os.geteuid()}"


HOMES = _homes()
GOLDEN = Path(__file__).parent / "golden"
SHARED = Path(__file__).parent.parent.parent / "shared"


class DatabaseMaker(Protocol):
    """Creates a database and returns its URL."""

    def __call__(self, template_url: str = ...) -> str:
        """A copy of the database at ``template_url``, to which nobody may be connected; by default empty."""
        ...


@pytest.fixture(scope="session")
def server_home() -> Iterator[Path]:
    """The home of this run's embedded server; homes of runs that were killed are removed first.

    It lies where root lets the server's user reach it: ``tmp_path`` is closed to others.
    """
    HOMES.mkdir(mode=0o711, exist_ok=True)
    for leftover in HOMES.iterdir():
        if not psutil.pid_exists(int(leftover.stem)):
            discard(leftover)
    home = HOMES / f"{os.getpid()}.server"
    yield home
    discard(home)


@pytest.fixture
def new_home(server_home: Path) -> Iterator[Path]:
    """The path of a home that does not exist yet; its server is stopped and its data removed after the test."""
    home = server_home.with_suffix(".test")
    yield home
    discard(home)


def discard(home: Path) -> None:
    """Stop the server of ``home`` and remove the folder."""
    try:
        remove(home)
    except EmbeddedServerError:
        # Another run removes the same leftover.
        return
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def server(server_home: Path) -> ServerAddress:
    """The embedded server of this run."""
    return start(server_home)


@pytest.fixture(scope="session")
def make_database(server: ServerAddress) -> DatabaseMaker:
    """Makes fresh databases, for fixtures of a wider scope than one test."""
    numbers = itertools.count(1)

    def make(template_url: str = "/template1") -> str:
        name = f"test_{next(numbers)}"
        with _admin(server) as admin:
            # File copy: an empty database is 7 MB, and its log would be written as well otherwise.
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {_name_of(template_url)} STRATEGY FILE_COPY")
        return ServerAddress(server.host_socket_dir, name).libpq_url

    return make


@pytest.fixture
def database_url(make_database: DatabaseMaker, server: ServerAddress) -> Iterator[str]:
    """The URL of a fresh database that holds nothing and is dropped after the test."""
    url = make_database()
    yield url
    with _admin(server) as admin:
        admin.execute(f"DROP DATABASE {_name_of(url)} WITH (FORCE)")


def _admin(server: ServerAddress) -> psycopg.Connection:
    return psycopg.connect(ServerAddress(server.host_socket_dir, "postgres").libpq_url, autocommit=True)


def _name_of(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one flag that writes golden files."""
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew; read the diff before a commit"
    )


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the file of that name in ``tests/golden``, or writes it under ``--update-golden``."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of corpora beside the checkout, which is no part of it."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared, absent here")
    return SHARED
