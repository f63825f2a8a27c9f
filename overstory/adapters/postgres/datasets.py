"""Removes a dataset from Postgres, with its vector tables."""

from __future__ import annotations

from overstory.adapters.postgres.database import Database
from overstory.record import Forgotten

_COUNTS = """
select (select count(*) from document where dataset = :dataset),
       (select count(*) from leaf l join document d on d.id = l.document_id where d.dataset = :dataset),
       (select count(*) from summary where dataset = :dataset)
"""

_VERSION_LEAVES = """
delete from version_leaf using document_version v, document d
where v.id = version_id and d.id = v.document_id and d.dataset = :dataset
"""


def forget(database: Database, dataset: str) -> Forgotten:
    """Remove every row of a dataset and its vector tables, all or nothing; returns what there was."""
    with database.transaction() as db:
        ((documents, leaves, summaries),) = db.rows(_COUNTS, dataset=dataset)
        for (table,) in db.rows("select name from vector_table where dataset = :dataset", dataset=dataset):
            db.run(f"drop table if exists {table}")  # its name is checked by the table that lists it
        db.run(_VERSION_LEAVES, dataset=dataset)
        # All other tables follow by their foreign keys.
        db.run("delete from dataset where name = :dataset", dataset=dataset)
    return Forgotten(documents, leaves, summaries)
