"""Whether to ask for a run: a pure function of what differs, what was asked for, and what became of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

FIRST_WAIT = 60.0
"""Seconds before a failed run is asked for again; doubled with every further attempt."""
LONGEST_WAIT = 3600.0
"""Seconds."""


class Outcome(StrEnum):
    """What became of the run that was asked for last."""

    NONE = "none"
    """There is none, or nobody knows of it any more."""
    RUNNING = "running"
    """Or waiting in the queue."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Asked:
    """The last request; what a sensor keeps between its ticks."""

    series: str
    """Names this row of requests: another one after what was kept has been lost."""
    number: int = 0
    """Of the differences in the series that a run was asked for, from 1; 0 before the first."""
    state: str = ""
    """Digest of these differences."""
    attempt: int = 0
    """Of a run for them, from 1."""

    @property
    def key(self) -> str:
        """Names the request: the same one is never launched twice, though the same differences may come back."""
        return f"{self.series}.{self.number}.{self.attempt}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do on a tick."""

    asked: Asked
    """To be kept for the next tick."""
    run: bool
    """Whether to ask for a run, by ``asked.key``."""
    reason: str
    """For people, where no run is asked for."""


def decide(state: str, asked: Asked, outcome: Outcome, since: float) -> Decision:
    """Whether differences call for a run.

    A run for other differences that still goes on is waited for: it reads the source when it starts, so it may mend
    these too. One that succeeded and left the same differences has done what it could: a file that cannot be read stays
    as it is until it changes. One that a person ended is not begun again against their will.

    Args:
        state: Digest of what differs now; empty where nothing does.
        asked: The last request.
        outcome: What became of it.
        since: Seconds since it ended.
    """
    if not state:
        return Decision(asked, run=False, reason="Nothing to ask for")
    if outcome is Outcome.RUNNING:
        return Decision(asked, run=False, reason="A run that was asked for has not ended")
    if state != asked.state:
        return Decision(Asked(asked.series, asked.number + 1, state, 1), run=True, reason="")
    match outcome:
        case Outcome.SUCCEEDED:
            return Decision(asked, run=False, reason="The last run made what it could of the same differences")
        case Outcome.CANCELED:
            return Decision(asked, run=False, reason="The run for these differences was canceled; launch it by hand")
        case Outcome.FAILED if since < wait(asked.attempt):
            return Decision(asked, run=False, reason=f"Attempt {asked.attempt} failed; the next one waits")
        case Outcome.NONE if asked.attempt:
            # Asked for and never seen: Dagster launches a run key once, so the same key asks for nothing new.
            return Decision(asked, run=True, reason="")
        case _:
            return Decision(replace(asked, attempt=asked.attempt + 1), run=True, reason="")


def wait(attempt: int) -> float:
    """Seconds between the end of a failed attempt and the next one, in [60, 3600]."""
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)))
