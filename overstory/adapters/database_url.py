"""One database, the spellings of its address, and none of its secrets in a message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from overstory.errors import SettingsError

VARIABLE = "OVERSTORY_DATABASE_URL"

Driver = Literal["psycopg", "psycopg2"]
"""psycopg is ours, psycopg2 is what Dagster's storage speaks."""

_SCHEME = re.compile(
    r"\Apostgres(?:ql)?(?:\+(?:psycopg2?|psycopg_async|psycopg2cffi|asyncpg|pg8000))?://", re.IGNORECASE
)
_SECRETS = re.compile(r"(://[^:/?#@]*:)[^/?#]*(?=@)|([?&](?:ssl)?password=)[^&#]*")


def database_url(environ: Mapping[str, str], home: Path) -> str:
    """The URL, as libpq reads it, of ``OVERSTORY_DATABASE_URL``; without one of the embedded server, started.

    Raises:
        SettingsError: The variable holds no Postgres URL.
        EmbeddedServerError: The embedded server cannot be started.
    """
    if chosen := environ.get(VARIABLE, "").strip():
        return libpq_url(chosen)
    from overstory.adapters.embedded_postgres import start

    return start(home).libpq_url


def libpq_url(url: str) -> str:
    """``url`` in the spelling of libpq: ``postgresql://...``.

    Raises:
        SettingsError: It is no Postgres URL; the message does not repeat it.
    """
    return _with_scheme(url, "postgresql")


def sqlalchemy_url(url: str, driver: Driver) -> str:
    """``url`` in the spelling of SQLAlchemy: ``postgresql+driver://...``.

    Raises:
        SettingsError: It is no Postgres URL; the message does not repeat it.
    """
    return _with_scheme(url, f"postgresql+{driver}")


def _with_scheme(url: str, scheme: str) -> str:
    rest, found = _SCHEME.subn("", url.strip())
    if not found:
        raise SettingsError(
            f"{VARIABLE} is not the URL of a Postgres database", hint="Write postgresql://user:password@host/database"
        )
    return f"{scheme}://{rest}"


def masked(url: str) -> str:
    """``url`` with every password replaced, for messages and logs."""
    return _SECRETS.sub(r"\1\2***", url)
