"""The whole record in one Postgres: composition, transactions and the lock on a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

import sqlalchemy as sa

from overstory.adapters.postgres.clusters import PostgresClusters
from overstory.adapters.postgres.database import Database, connect, translated
from overstory.adapters.postgres.documents import PostgresDocuments
from overstory.adapters.postgres.leaves import PostgresLeaves
from overstory.adapters.postgres.ledger import PostgresLedger
from overstory.adapters.postgres.summaries import PostgresSummaries
from overstory.adapters.postgres.vectors import PgVectors
from overstory.errors import BuildLocked, SettingsError
from overstory.identity import ClusterId, DocumentId
from overstory.record import Clusters, Documents, Leaves, Ledger, Summaries, VectorStore

_OLDEST_CHANGE = """
select min(since) from (
    select v.current_at as since
    from document d join document_version v on v.id = d.current_version
    where d.id = any(cast(:documents as uuid[]))
    union all
    select member.made_at
    from membership m
    join summary member on (member.document_id = m.member_id and member.kind = 'document_summary')
        or member.cluster_id = m.member_id
    left join summary own on own.cluster_id = m.cluster_id
    where m.cluster_id = any(cast(:clusters as uuid[])) and (own.made_at is null or member.made_at > own.made_at)
) as changes
"""


class PostgresRecord:
    """``record.Record`` over one database."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.documents: Documents = PostgresDocuments(db)
        self.leaves: Leaves = PostgresLeaves(db)
        self.summaries: Summaries = PostgresSummaries(db)
        self.clusters: Clusters = PostgresClusters(db)
        self.ledger: Ledger = PostgresLedger(db)
        self.vectors: VectorStore = PgVectors(db)

    @classmethod
    def open(cls, url: str) -> PostgresRecord:
        """The record at an SQLAlchemy address, migrated."""
        return cls(connect(url))

    def close(self) -> None:
        """Give all connections back."""
        self.db.engine.dispose()

    def ensure_dataset(self, name: str, source: str) -> None:
        """Make the dataset, or check that it is built from the same source.

        Raises:
            SettingsError: The name belongs to another source.
        """
        self.db.run("insert into dataset (name, source) values (:n, :s) on conflict do nothing", n=name, s=source)
        self.check_dataset(name, source)

    def check_dataset(self, name: str, source: str) -> None:
        """Check that the dataset, if there is one, is built from this source.

        Raises:
            SettingsError: The name belongs to another source.
        """
        for (known,) in self.db.rows("select source from dataset where name = :n", n=name):
            if known != source:
                raise SettingsError(
                    f"Dataset '{name}' is built from {known}, not from {source}",
                    hint="Give this folder another name with --dataset",
                )

    def datasets(self) -> list[tuple[str, str]]:
        """(name, source) of every dataset, by name."""
        return [(name, source) for name, source in self.db.rows("select name, source from dataset order by name")]

    @contextmanager
    def transaction(self) -> Iterator[PostgresRecord]:
        """The same record bound to one transaction, committed when the block ends without an error."""
        with self.db.transaction() as db:
            yield PostgresRecord(db)

    @contextmanager
    def lock(self, dataset: str) -> Iterator[None]:
        """Hold the dataset against other builds by an advisory lock, which dies with its connection.

        Raises:
            BuildLocked: Another build holds it.
        """
        with translated(), self.db.engine.connect() as connection:
            key = {"key": f"overstory.build.{dataset}"}
            taken = connection.scalar(sa.text("select pg_try_advisory_lock(hashtextextended(:key, 0))"), key)
            connection.commit()
            if not taken:
                raise BuildLocked(
                    f"Another build of dataset '{dataset}' is running",
                    hint="Wait for it, or end it in the Dagster UI",
                    dataset=dataset,
                )
            try:
                yield
            finally:
                connection.execute(sa.text("select pg_advisory_unlock(hashtextextended(:key, 0))"), key)
                connection.commit()

    def oldest_change(self, documents: Iterable[DocumentId], clusters: Iterable[ClusterId]) -> datetime | None:
        """When the oldest of these nodes went stale: its document became current, or a member was made anew."""
        found = self.db.rows(_OLDEST_CHANGE, documents=list(documents), clusters=list(clusters))
        value: datetime | None = found[0][0]
        return value
