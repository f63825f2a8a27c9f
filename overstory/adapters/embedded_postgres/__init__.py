"""A Postgres server of our own in the home folder, for those who have none: no set-up, no port, no password."""

from overstory.adapters.embedded_postgres.server import (
    ServerAddress,
    ServerStatus,
    connected,
    remove,
    start,
    status,
    stop,
)

__all__ = ["ServerAddress", "ServerStatus", "connected", "remove", "start", "status", "stop"]
