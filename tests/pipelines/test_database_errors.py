"""Dagster's storage lies in the same database: what goes wrong there is told as what goes wrong with the record."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from dagster_postgres.utils import DagsterPostgresException

from overstory.errors import StoreFull, StoreUnavailable
from pipelines.launch import _database_errors


class OperationalError(Exception):
    """As psycopg2's, which gives the code of the error another name."""

    pgcode = "53100"


def test_full_disk_beneath_dagster_is_a_full_database() -> None:
    full = OperationalError("could not extend file: No space left on device")
    with pytest.raises(StoreFull, match="no room left"), _database_errors():
        raise sa.exc.OperationalError("insert", {}, full)


def test_connection_that_dagster_does_not_get_is_a_database_that_does_not_answer() -> None:
    with pytest.raises(StoreUnavailable, match="does not answer"), _database_errors():
        raise DagsterPostgresException("too many retries for DB connection")
