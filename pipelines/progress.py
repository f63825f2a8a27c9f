"""Progress of a run as log lines, few enough to be read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

INTERVAL_SECONDS = 5.0
STEP = 0.1


@dataclass(slots=True)
class LoggedProgress:
    """Writes a line when a tenth more is done, at most one in five seconds, and one at the end of what took longer."""

    write: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _last: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By stage: when a line was written last, and the share that it told."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """``done`` of ``total`` items of ``stage`` are finished."""
        now = self.clock()
        share = done / total if total else 1.0
        written, told = self._last.setdefault(stage, (now, 0.0))
        if now - written >= INTERVAL_SECONDS and (share - told >= STEP or now - written >= 2 * INTERVAL_SECONDS):
            self._last[stage] = (now, share)
            self.write(f"{stage}: {done:,} of {total:,} ({share:.0%})")
