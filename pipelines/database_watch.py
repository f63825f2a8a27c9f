"""Notices that the database of a served deployment is gone, and brings the embedded one back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from overstory import api
from overstory.adapters import embedded_postgres
from overstory.adapters.database_url import VARIABLE
from overstory.errors import EmbeddedServerError, StoreUnavailable


@dataclass(slots=True)
class DatabaseWatch:
    """Looks after the database for as long as Dagster is served."""

    home: Path
    environ: Mapping[str, str]
    tell: Callable[[str], object]
    """Is given a line when the database goes and when it is back."""
    pause_seconds: float = 5.0
    """Between two looks."""
    lost: bool = False

    def look(self) -> None:
        """See whether the database answers; start an embedded one that has crashed.

        Raises:
            EmbeddedServerError: Somebody has stopped the embedded one, or it does not start again.
        """
        if not self.environ.get(VARIABLE, "").strip():
            self._look_at_embedded()
            return
        try:
            api.open_record(self.home, self.environ).close()
        except StoreUnavailable as error:
            if not self.lost:
                self.tell(f"{error.message}; the page shows errors until it does")
            self.lost = True
        else:
            if self.lost:
                self.tell("The database answers again")
            self.lost = False

    def _look_at_embedded(self) -> None:
        status = embedded_postgres.status(self.home)
        if status.pid is not None:
            return
        if not status.crashed:
            raise EmbeddedServerError("The embedded Postgres was stopped, so Dagster ends too", hint="Run it again")
        embedded_postgres.start(self.home)
        self.tell("The embedded Postgres had ended by itself; it has been started again")
