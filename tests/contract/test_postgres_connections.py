"""What a connection to the record is like, and what becomes of a lock whose connection is lost."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa

from overstory.adapters.postgres.database import driver_connection
from overstory.adapters.postgres.record import PostgresRecord
from overstory.errors import StoreError

_END_HOLDER = """
select pg_terminate_backend(pid) from pg_locks
where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
"""


def test_an_idle_connection_is_kept_alive(record: PostgresRecord) -> None:
    with record.db.begin() as connection:
        found = driver_connection(connection).info.get_parameters()
    assert found["keepalives_idle"] == "30"


def test_no_error_beneath_ours_quotes_a_value(record: PostgresRecord) -> None:
    with pytest.raises(StoreError) as failed:
        record.db.run("insert into dataset (name, source) values (:n, cast(:s as int))", n="a", s="secret words")
    cause = failed.value.__cause__
    assert isinstance(cause, sa.exc.DBAPIError)
    assert "[parameters" not in str(cause)


def _go_wrong(record: PostgresRecord) -> None:
    """Lose the connection that holds the lock, then fail for another reason."""
    with record.lock("corpus"):
        record.db.rows(_END_HOLDER)
        raise ValueError("what went wrong")


def test_a_lost_lock_does_not_hide_what_went_wrong(record: PostgresRecord, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(ValueError, match="what went wrong"):
        _go_wrong(record)
    assert "was lost" in caplog.text
    with record.lock("corpus"):
        pass
