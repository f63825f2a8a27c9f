"""The whole record in one Postgres: composition, transactions and locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

from overstory.adapters.postgres.clusters import PostgresClusters
from overstory.adapters.postgres.database import Database, connect
from overstory.adapters.postgres.datasets import forget
from overstory.adapters.postgres.documents import PostgresDocuments
from overstory.adapters.postgres.embedders import PostgresEmbedders
from overstory.adapters.postgres.holds import PostgresHold, hold, living
from overstory.adapters.postgres.leaves import PostgresLeaves
from overstory.adapters.postgres.ledger import PostgresLedger
from overstory.adapters.postgres.purges import PostgresPurges
from overstory.adapters.postgres.recipes import PostgresRecipes
from overstory.adapters.postgres.repairs import PostgresRepairs
from overstory.adapters.postgres.summaries import PostgresSummaries
from overstory.adapters.postgres.vectors import PgVectors
from overstory.errors import SettingsError
from overstory.identity import ClusterId, DocumentId
from overstory.known_embedders import KnownEmbedders
from overstory.purges import Purges
from overstory.recipes_seen import RecipesSeen
from overstory.record import Clusters, Documents, Forgotten, Leaves, Ledger, Summaries, VectorStore
from overstory.repairs import Repairs

_OLDEST_CHANGE = """
select min(since) from (
    select coalesce(
        (select min(v.extracted_at) from document_version v
         where v.document_id = d.id and (c.number is null or v.number > c.number)),
        case when d.failure is not null then d.seen_at else c.current_at end
    ) as since
    from document d left join document_version c on c.id = d.current_version
    where d.id = any(cast(:documents as uuid[]))
    union all
    select coalesce(
        min(member.made_at) filter (where own.made_at is null or member.made_at > own.made_at), min(own.made_at)
    )
    from unnest(cast(:clusters as uuid[])) as cluster (id)
    left join summary own on own.cluster_id = cluster.id
    left join membership m on m.cluster_id = cluster.id
    left join summary member on (member.document_id = m.member_id and member.kind = 'document_summary')
        or member.cluster_id = m.member_id
    group by cluster.id
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
        self.embedders: KnownEmbedders = PostgresEmbedders(db)
        self.purges: Purges = PostgresPurges(db)
        self.repairs: Repairs = PostgresRepairs(db)
        self.recipes_seen: RecipesSeen = PostgresRecipes(db)

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
        known = self.source(name)
        if known != source:
            raise SettingsError(
                f"Dataset '{name}' is built from {known}, not from {source}",
                hint="Give this folder another name with --dataset",
            )

    def source(self, name: str) -> str | None:
        """The folder that a dataset is built from; None where there is no such dataset."""
        found = self.db.rows("select source from dataset where name = :n", n=name)
        return found[0][0] if found else None

    def relocate(self, name: str, source: str) -> None:
        """Note that a dataset's folder has moved; nothing else changes, since documents are known by relative paths."""
        self.db.run("update dataset set source = :s where name = :n", n=name, s=source)

    def datasets(self) -> list[tuple[str, str]]:
        """(name, source) of every dataset, by name."""
        return [(name, source) for name, source in self.db.rows("select name, source from dataset order by name")]

    def forget(self, name: str) -> Forgotten:
        """Remove a dataset with all that is kept for it, paid answers, vectors and ledger included."""
        return forget(self.db, name)

    @contextmanager
    def transaction(self) -> Iterator[PostgresRecord]:
        """The same record bound to one transaction, committed when the block ends without an error."""
        with self.db.transaction() as db:
            yield PostgresRecord(db)

    def make_schema(self, name: str) -> None:
        """Make room in the database for the tables of another program."""
        if not self.db.rows("select 1 from pg_namespace where nspname = :name", name=name):
            self.db.run(f'create schema if not exists "{name}"')

    def hold(self, run_id: str | None = None) -> AbstractContextManager[PostgresHold]:
        """What a run holds until the block ends: that it lives, and the datasets that it takes."""
        return hold(self.db, run_id)

    @contextmanager
    def lock(self, dataset: str) -> Iterator[None]:
        """Hold one dataset against builds.

        Raises:
            BuildLocked: A build holds it.
        """
        with self.hold() as held:
            held.take(dataset)
            yield

    def living(self, run_ids: Iterable[str]) -> set[str]:
        """Those of the runs whose process lives."""
        return living(self.db, run_ids)

    def oldest_change(self, documents: Iterable[DocumentId], clusters: Iterable[ClusterId]) -> datetime | None:
        """When the oldest of these nodes went stale.

        A document: when the first text that waits to be cut was extracted, when the document was last seen where it
        cannot be read, else when its version became current. A cluster: when the first of its members made since was
        made; a deletion leaves no date, then when its own summary was made, which is too early. What a new recipe
        makes stale is not for this (``recipes_seen``).
        """
        found = self.db.rows(_OLDEST_CHANGE, documents=list(documents), clusters=list(clusters))
        value: datetime | None = found[0][0]
        return value
