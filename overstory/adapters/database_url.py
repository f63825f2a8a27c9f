"""One database, the spellings of its address, and none of its secrets in a message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

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
        SettingsError: It is no Postgres URL, or a malformed one; the message does not repeat it.
    """
    return _with_scheme(url, "postgresql")


def sqlalchemy_url(url: str, driver: Driver) -> str:
    """``url`` in the spelling of SQLAlchemy: ``postgresql+driver://...``.

    Raises:
        SettingsError: It is no Postgres URL, or a malformed one; the message does not repeat it.
    """
    return _with_scheme(url, f"postgresql+{driver}")


def in_schema(url: str, schema: str) -> str:
    """``url`` whose connections make and find tables in ``schema``, after whatever options it has already."""
    option = f"-csearch_path%3D{schema}"
    base, _, query = url.partition("?")
    parts = query.split("&") if query else []
    others = [part for part in parts if not part.startswith("options=")]
    options = "%20".join([part.removeprefix("options=") for part in parts if part not in others] + [option])
    return f"{base}?{'&'.join([*others, f'options={options}'])}"


def _with_scheme(url: str, scheme: str) -> str:
    rest, found = _SCHEME.subn("", url.strip())
    if not found:
        raise SettingsError(
            f"{VARIABLE} is not the URL of a Postgres database", hint="Write postgresql://user:password@host/database"
        )
    _refuse_malformed(rest)
    return f"{scheme}://{rest}"


def _refuse_malformed(rest: str) -> None:
    """Say what is wrong before a driver does: it would quote the piece that it stumbled over."""
    try:
        parts = urlsplit(f"postgresql://{rest}")
        _ = parts.port
    except ValueError:
        wrong = "has a host or a port that cannot be read"
    else:
        if parts.netloc.count("@") < 2:
            return
        wrong = "has more than one @"
    raise SettingsError(
        f"{VARIABLE} {wrong}",
        hint="Write @ : / ? # [ ] % in a user or password as %40 %3A %2F %3F %23 %5B %5D %25, and the port as a number",
    )


def masked(url: str) -> str:
    """``url`` with every password replaced, for messages and logs."""
    return _SECRETS.sub(r"\1\2***", url)
