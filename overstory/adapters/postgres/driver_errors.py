"""The driver's errors in words of our own, without a part of the address or a value of a statement in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa

from overstory.errors import StoreError, StoreFull, StoreUnavailable

_FULL = frozenset({"53100", "53200", "53300", "54000"})
_UNREACHABLE = {
    "resolve host": "the host of its address is not known",
    "refused": "nothing listens at its address",
    "timeout": "it took too long",
    "password authentication failed": "it does not accept this user with this password",
    "no password supplied": "it asks for a password",
    "does not exist": "it has no such user or database",
    "No such file": "nothing listens at its address",
    "Permission denied": "this user may not enter the folder of its socket",
    "no pg_hba.conf entry": "it does not let this user in from here",
    "SSL": "it does not agree on encryption",
    "starting up": "it is still starting",
    "shutting down": "it is shutting down",
    "terminating connection": "it ended the connection",
    "closed": "it ended the connection",
    "another command": "the connection is in the middle of another command",
}
"""Why, by words of the driver: its own sentence quotes parts of the address, and with them of a password."""


@contextmanager
def translated() -> Iterator[None]:
    """Vendor errors of the block as errors of our own tree, without the statement's values.

    An interruption wins over the errors that it caused: what was in the middle of something cannot end well.
    """
    try:
        yield
    except (sa.exc.DBAPIError, psycopg.Error) as error:
        if (ended := interruption(error)) is not None:
            raise ended from None
        raise translate(getattr(error, "orig", None) or error) from error


def interruption(error: BaseException | None) -> BaseException | None:
    """What a signal raised (``KeyboardInterrupt`` and the like), if ``error`` is it or came while it was handled."""
    while error is not None:
        if not isinstance(error, Exception | GeneratorExit):
            return error
        error = error.__context__
    return None


def translate(error: BaseException) -> StoreError:
    """The error of our tree for one of the driver's."""
    # psycopg2, by which Dagster speaks to the same database, calls it pgcode.
    code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""
    first_line = (str(error).strip().splitlines() or ["no reason given"])[0]
    if code in _FULL:
        return StoreFull(f"The database has no room left: {first_line}", hint="Free some space; the build resumes")
    if code[:2] in ("08", "28", "3D", "57") or (not code and _operational(error)):
        reason = next((said for words, said in _UNREACHABLE.items() if words in str(error)), "")
        return StoreUnavailable(
            f"The database does not answer: {reason}" if reason else "The database does not answer",
            hint="Check OVERSTORY_DATABASE_URL, or run 'overstory dev' for the embedded one",
        )
    return StoreError(f"The database refused ({code or type(error).__name__})", hint=first_line)


def _operational(error: BaseException) -> bool:
    """Whether a driver, ours or Dagster's, blames the connection."""
    return any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)
