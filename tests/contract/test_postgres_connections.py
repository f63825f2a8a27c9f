"""What a connection to the record is like, and what becomes of a lock whose connection is lost."""

from __future__ import annotations

import logging
import os
import signal
import threading

import psycopg
import pytest
import sqlalchemy as sa

from overstory.adapters.postgres.database import driver_connection
from overstory.adapters.postgres.driver_errors import translate
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


class Interrupted(BaseException):
    """What a signal raises; like Dagster's, the driver does not know it."""


def _interrupt(_number: int, _frame: object) -> None:
    raise Interrupted


def _interrupt_once_blocked(record: PostgresRecord) -> None:
    """Send this process a signal as soon as one of the database's backends waits for another."""
    while not record.db.rows("select 1 from pg_locks where not granted"):
        pass
    os.kill(os.getpid(), signal.SIGUSR1)


def test_an_interruption_in_the_middle_of_a_copy_is_what_comes_out(
    record: PostgresRecord, caplog: pytest.LogCaptureFixture
) -> None:
    before = signal.signal(signal.SIGUSR1, _interrupt)
    watcher = threading.Thread(target=_interrupt_once_blocked, args=[record])
    try:
        with record.db.transaction() as other:
            other.run("insert into dataset (name, source) values ('a', 'first')")
            watcher.start()
            with pytest.raises(Interrupted):
                # The same key: the server waits for the other transaction once the copy has been sent.
                record.db.copy("dataset", ("name", "source"), ("text", "text"), [("a", "second")])
    finally:
        signal.signal(signal.SIGUSR1, before)
        watcher.join()
    assert caplog.text == ""
    assert record.db.rows("select source from dataset") == [("first",)]


def _fail_while_interrupted(record: PostgresRecord) -> None:
    with record.db.begin() as connection:
        try:
            raise Interrupted
        finally:
            connection.execute(sa.text("select no_such_column"))


def test_an_interruption_wins_over_the_errors_that_it_caused(record: PostgresRecord) -> None:
    with pytest.raises(Interrupted):
        _fail_while_interrupted(record)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("failed to resolve host 'Pw77@127.0.0.1': [Errno -2] Name or service not known", "the host of its address"),
        ('connection failed: FATAL: password authentication failed for user "Pw77"', "does not accept this user"),
        ("something that names Pw77", "does not answer"),
    ],
)
def test_an_unreachable_database_is_told_without_a_word_of_its_address(said: str, meant: str) -> None:
    told = str(translate(psycopg.OperationalError(said)))
    assert meant in told
    assert "Pw77" not in told
