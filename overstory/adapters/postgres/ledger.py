"""Every call that was made, and its price, in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.ports import Call
from overstory.record import Spent

_ADD = """
insert into ledger (dataset, run_id, node_id, kind, cause, model, tokens_in, tokens_out, usd, seconds, outcome)
values (:dataset, :run_id, cast(:node_id as uuid), :kind, :cause, :model, :tokens_in, :tokens_out, :usd, :seconds,
        :outcome)
"""


_SPENT = """
select count(*), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(usd), 0)
from ledger where dataset = :dataset and (cast(:run_id as text) is null or run_id = :run_id)
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

    def spent(self, dataset: str, run_id: str | None = None) -> Spent:
        """What a run has cost so far, or all runs."""
        calls, tokens_in, tokens_out, usd = self.db.rows(_SPENT, dataset=dataset, run_id=run_id)[0]
        return Spent(int(calls), int(tokens_in), int(tokens_out), float(usd))
