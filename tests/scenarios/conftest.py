"""The workbench that scenarios are built on; the invariants are checked when a scenario ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.embedded_postgres import ServerAddress
from overstory.adapters.postgres.record import PostgresRecord
from tests.conftest import DatabaseMaker
from tests.llm_server import LLMServer, llm_server
from tests.scenarios.workbench import Workbench

__all__ = ["llm_server"]

MakeRecord = Callable[[], str]


@pytest.fixture(scope="session")
def empty_record_url(make_database: DatabaseMaker) -> str:
    """The URL of a migrated database, to copy."""
    url = make_database()
    PostgresRecord.open(sqlalchemy_url(url, "psycopg")).close()
    return url


@pytest.fixture
def make_record(make_database: DatabaseMaker, empty_record_url: str, server: ServerAddress) -> Iterator[MakeRecord]:
    """Makes migrated databases of the test's own, and returns their URLs."""
    made: list[str] = []

    def make() -> str:
        made.append(make_database(empty_record_url))
        return made[-1]

    yield make
    with psycopg.connect(ServerAddress(server.host_socket_dir, "postgres").libpq_url, autocommit=True) as admin:
        for url in made:
            admin.execute(f"drop database {urlsplit(url).path.removeprefix('/')} with (force)")


@pytest.fixture
def loose_bench(tmp_path: Path, make_record: MakeRecord) -> Iterator[Workbench]:
    """A workbench whose stores are broken on purpose: nothing is checked at the end."""
    bench = Workbench(tmp_path / "source", make_record())
    yield bench
    bench.record.close()


@pytest.fixture
def bench(loose_bench: Workbench) -> Iterator[Workbench]:
    """A workbench with the default settings; I1 to I6 are checked when the test has ended."""
    yield loose_bench
    loose_bench.check()


@pytest.fixture
def llm_bench(bench: Workbench, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """The same with summaries by the local model server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    bench.settings["summarizer"] = {
        "kind": "openai",
        "model": "stub",
        "base_url": llm_server.base_url,
        "concurrency": 4,
        "max_attempts": 2,
    }
    return bench
