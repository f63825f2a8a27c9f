"""Every call that was made, and its price, in Postgres."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from overstory.adapters.postgres.database import Database
from overstory.ports import Call
from overstory.record import Spent

_LEDGER = (
    (
        "dataset",
        "run_id",
        "node_id",
        "kind",
        "cause",
        "model",
        "tokens_in",
        "tokens_out",
        "usd",
        "seconds",
        "outcome",
    ),
    ("text", "text", "uuid", "text", "text", "text", "int8", "int8", "float8", "float8", "text"),
)

_SPENT = """
select count(*), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(usd), 0)
from ledger where dataset = :dataset and (cast(:run_id as text) is null or run_id = :run_id)
"""


@dataclass(frozen=True, slots=True)
class PostgresLedger:
    """``record.Ledger`` over Postgres."""

    db: Database

    def add(self, dataset: str, run_id: str, calls: Sequence[Call]) -> None:
        """Append calls, all or none; outside a transaction they are committed on return."""
        if calls:
            self.db.copy("ledger", *_LEDGER, _copied(dataset, run_id, calls))

    def spent(self, dataset: str, run_id: str | None = None) -> Spent:
        """What a run has cost so far, or all runs."""
        calls, tokens_in, tokens_out, usd = self.db.rows(_SPENT, dataset=dataset, run_id=run_id)[0]
        return Spent(int(calls), int(tokens_in), int(tokens_out), float(usd))


def _copied(dataset: str, run_id: str, calls: Sequence[Call]) -> Iterator[tuple[object, ...]]:
    for call in calls:
        node = UUID(call.key) if call.key else None
        made = (call.tokens_in, call.tokens_out, float(call.usd), float(call.seconds), call.outcome)
        yield (dataset, run_id, node, str(call.kind), call.cause, call.model, *made)
