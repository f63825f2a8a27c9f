"""An empty record and an empty dataset in it, for every contract test of Postgres."""

from tests.contract.postgres_corpus import corpus, migrated_database, record

__all__ = ["corpus", "migrated_database", "record"]
