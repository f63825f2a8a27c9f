"""Every call that was made, and its price, in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.ports import Call

_ADD = """
insert into ledger (dataset, run_id, node_id, kind, cause, model, tokens_in, tokens_out, usd, seconds, outcome)
values (:dataset, :run_id, cast(:node_id as uuid), :kind, :cause, :model, :tokens_in, :tokens_out, :usd, :seconds,
        :outcome)
"""


@dataclass(frozen=True, slots=True)
class PostgresLedger:
    """``record.Ledger`` over Postgres."""

    db: Database

    def add(self, dataset: str, run_id: str, calls: Sequence[Call]) -> None:
        """Append calls."""
        with self.db.transaction() as db:
            for call in calls:
                db.run(
                    _ADD,
                    dataset=dataset,
                    run_id=run_id,
                    node_id=call.key or None,
                    kind=str(call.kind),
                    cause=call.cause,
                    model=call.model,
                    tokens_in=call.tokens_in,
                    tokens_out=call.tokens_out,
                    usd=call.usd,
                    seconds=call.seconds,
                    outcome=call.outcome,
                )

    def spent_usd(self, dataset: str, run_id: str) -> float:
        """What a run has cost so far."""
        found = self.db.rows(
            "select coalesce(sum(usd), 0) from ledger where dataset = :d and run_id = :r", d=dataset, r=run_id
        )
        return float(found[0][0])
