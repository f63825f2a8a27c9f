"""Where an embedded server is reached, and whether it answers there."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

import psycopg

from overstory.adapters.database_url import Driver, sqlalchemy_url

USER = "overstory"
DATABASE = "overstory"
PORT = "5432"
"""Only a part of the socket's name: the server listens on no port."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A database of a server that listens on a socket; there is no password to keep."""

    host_socket_dir: str
    database: str = DATABASE
    user: str = USER

    @property
    def libpq_url(self) -> str:
        """The URL that libpq and psycopg read."""
        query = urlencode({"host": self.host_socket_dir, "port": PORT, "user": self.user}, safe="/")
        return f"postgresql:///{quote(self.database, safe='')}?{query}"

    def sqlalchemy_url(self, driver: Driver) -> str:
        """The URL that SQLAlchemy reads to connect by ``driver``."""
        return sqlalchemy_url(self.libpq_url, driver)

    def ping(self) -> psycopg.pq.Ping:
        """OK if it answers, REJECT while it starts or stops, NO_RESPONSE if nothing listens."""
        return psycopg.pq.Ping(psycopg.pq.PGconn.ping(f"{self.libpq_url}&connect_timeout=2".encode()))
