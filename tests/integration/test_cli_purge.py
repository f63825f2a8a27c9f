"""``purge`` and ``verify`` as a user types them, after builds by Dagster whose events lie in the same database."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import psycopg
import pytest

from tests.integration.test_cli import Terminal, complaint, terminal, write

__all__ = ["terminal"]

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"

SENTENCE = "Ledgers of the Zanzibar-7341 office are kept for 7,341 days."


@pytest.fixture
def built(terminal: Terminal) -> Terminal:
    """Three documents, of which one says what no other does; edited and moved after the first build."""
    shared = "Invoices are paid within 30 days. Refunds take 5 days.\n"
    write(terminal.folder, a=f"# A\n\n{SENTENCE}\n\n{shared}", b=f"# B\n\n{shared}", c=f"# C\n\n{shared}More.\n")
    assert terminal("build", "docs").returncode == 0
    (terminal.folder / "docs/a.md").rename(terminal.folder / "docs/z.md")
    (terminal.folder / "docs/b.md").write_text(f"# B\n\n{shared}Again.\n")
    assert terminal("build", "docs").returncode == 0
    return terminal


def dump(database_url: str) -> str:
    """Every row of every table that is no catalog."""
    with psycopg.connect(database_url) as connection:
        tables = connection.execute(
            "select quote_ident(schemaname) || '.' || quote_ident(tablename) from pg_tables "
            "where schemaname not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        rows = [connection.execute(f"select t::text from {name} t").fetchall() for (name,) in tables]
    return "\n".join(row for found in rows for (row,) in found)


def holding(folder: Path, needle: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes()]


def test_purge_leaves_nothing_in_database_and_home(built: Terminal, database_url: str) -> None:
    assert "Zanzibar" in dump(database_url)
    done = built("purge", "z.md", "--yes", "--erase", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    published = json.loads((SCHEMAS / "purge.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(published).validate(told)
    assert (told["clean"], told["erased"]) == (True, True)
    assert told["passages"] > 0
    assert "dagster.event_logs.event" in {store["store"] for store in told["stores"]}
    assert "Zanzibar" not in dump(database_url)
    assert holding(built.folder.parent / "home", "Zanzibar") == []


def test_purged_document_is_left_out_until_that_is_undone(built: Terminal, database_url: str) -> None:
    built("purge", "z.md", "--yes")
    assert "1 purged document is left out" in built("build", "docs").stdout
    assert "Zanzibar" not in dump(database_url)
    assert built("purge", "z.md", "--undo").returncode == 0
    built("build", "docs")
    assert "Zanzibar" in dump(database_url)


def test_purge_asks_first_and_tells_where_something_is_left(built: Terminal, database_url: str) -> None:
    assert "no document 'nothing.md'" in complaint(built("purge", "nothing.md", "--yes"))
    assert "--yes" in complaint(built("purge", "z.md"))
    with psycopg.connect(database_url) as connection:
        connection.execute("create table public.notes (body text)")
        connection.execute("insert into public.notes values (%s)", (SENTENCE,))
    done = built("purge", "z.md", "--yes")
    assert done.returncode == 4
    assert "public.notes.body still holds" in done.stdout


def test_verify_tells_and_mends(built: Terminal, database_url: str) -> None:
    assert built("verify").returncode == 0
    with psycopg.connect(database_url) as connection:
        ((table,),) = connection.execute("select name from overstory.vector_table").fetchall()
        connection.execute(f"delete from overstory.{table} where kind = 'leaf'")
    done = built("verify", "--json")
    assert done.returncode == 4
    assert {fault["fault"] for fault in json.loads(done.stdout)["faults"]} == {"row without a vector"}
    mended = built("verify", "--repair", "--json")
    assert mended.returncode == 0
    assert json.loads(mended.stdout)["left"] == []
    assert built("verify").returncode == 0
