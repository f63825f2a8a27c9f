"""Errors of the core in Dagster's terms: one line in the UI, and a retry only where waiting helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from overstory.errors import BuildLocked, OverstoryError, Transient
from pipelines.caller import caller

LOCK_RETRIES = 60
LOCK_WAIT_SECONDS = 10.0


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Turn an error of the block into one that Dagster shows as its message.

    Raises:
        RetryRequested: Another build holds the dataset; the step waits ten minutes at most, unless a caller waits.
        Failure: Anything else of our own tree.
    """
    try:
        yield
    except BuildLocked as error:
        if (waiting := caller()) is not None:
            waiting.error = error
            raise dg.Failure(description=str(error), allow_retries=False) from None
        raise dg.RetryRequested(max_retries=LOCK_RETRIES, seconds_to_wait=LOCK_WAIT_SECONDS) from error
    except OverstoryError as error:
        if (waiting := caller()) is not None:
            waiting.error = error
        # The cause is left out: a chain of vendor errors would hide the line that says what to do.
        raise dg.Failure(
            description=str(error),
            metadata={"error": type(error).__name__, "resumes": True},
            allow_retries=isinstance(error, Transient),
        ) from None
