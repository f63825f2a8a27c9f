from __future__ import annotations

from pathlib import Path

import pytest

from overstory.adapters.database_url import database_url, in_schema, libpq_url, masked, sqlalchemy_url
from overstory.adapters.embedded_postgres import ServerAddress
from overstory.errors import SettingsError

REST = "user:p%40ss@host:5433/name?sslmode=require"
SPELLINGS = ["postgres://", "postgresql://", "postgresql+psycopg://", "postgresql+psycopg2://", "POSTGRESQL://"]


@pytest.mark.parametrize("scheme", SPELLINGS)
def test_every_spelling_becomes_the_one_of_libpq(scheme: str) -> None:
    assert libpq_url(f" {scheme}{REST}\n") == f"postgresql://{REST}"


@pytest.mark.parametrize("scheme", SPELLINGS)
def test_every_spelling_becomes_the_one_of_a_driver(scheme: str) -> None:
    assert sqlalchemy_url(f"{scheme}{REST}", "psycopg2") == f"postgresql+psycopg2://{REST}"


def test_a_chosen_database_starts_no_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert database_url({"OVERSTORY_DATABASE_URL": f"postgres://{REST}"}, home) == f"postgresql://{REST}"
    assert not home.exists()


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "secret", "postgresql:/secret", "host=h password=secret"])
def test_what_is_no_postgres_url_is_refused_without_being_repeated(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        database_url({"OVERSTORY_DATABASE_URL": url}, tmp_path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://u:sec@ret@h/d", "more than one @"),
        ("postgresql://u:sec/ret@h/d", "port that cannot be read"),
        ("postgresql://u:sec#ret@h/d", "port that cannot be read"),
        ("postgresql://u:ret@sec:abc/d", "port that cannot be read"),
        ("postgresql://u:ret@h:99999/sec", "port that cannot be read"),
        ("postgresql://u:ret@[::1/sec", "host or a port"),
    ],
)
def test_malformed_url_is_refused_with_what_is_wrong_and_without_a_part_of_it(url: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        sqlalchemy_url(url, "psycopg")
    assert "sec" not in str(caught.value)
    assert "ret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:se:c@ret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h/d?password=secret&x=1", "postgresql://u@h/d?password=***&x=1"),
        ("postgresql:///d?host=/run&user=u", "postgresql:///d?host=/run&user=u"),
        ("postgresql://h:5432/d?application_name=a@b", "postgresql://h:5432/d?application_name=a@b"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_the_address_of_a_server_is_spelled_for_each_client() -> None:
    address = ServerAddress("/run/x")
    rest = ":///overstory?host=/run/x&port=5432&user=overstory"
    assert [address.libpq_url, address.sqlalchemy_url("psycopg")] == [f"postgresql{rest}", f"postgresql+psycopg{rest}"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "options=-csearch_path%3Ddagster"),
        ("sslmode=require", "sslmode=require&options=-csearch_path%3Ddagster"),
        ("options=-cwork_mem%3D1MB&a=b", "a=b&options=-cwork_mem%3D1MB%20-csearch_path%3Ddagster"),
    ],
)
def test_schema_is_added_to_the_options(query: str, expected: str) -> None:
    base = "postgresql+psycopg2://host/base"
    assert in_schema(f"{base}?{query}" if query else base, "dagster") == f"{base}?{expected}"
