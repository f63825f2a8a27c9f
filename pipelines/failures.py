"""Errors of the core in Dagster's terms: one line in the UI, and a retry only where it helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from overstory.errors import OverstoryError, Transient
from pipelines.caller import caller


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Turn an error of the block into one that Dagster shows as its message.

    Raises:
        Failure: For anything of our own tree.
    """
    try:
        yield
    except OverstoryError as error:
        if (waiting := caller()) is not None:
            waiting.error = error
        # The cause is left out: a chain of vendor errors would hide the line that says what to do.
        raise dg.Failure(
            description=str(error),
            metadata={"error": type(error).__name__, "resumes": True},
            allow_retries=isinstance(error, Transient),
        ) from None
