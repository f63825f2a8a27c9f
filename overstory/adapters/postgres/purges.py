"""Purged documents in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.purges import PurgedDocument

_ADD = """
insert into purged_document (dataset, place, document_id) values (:dataset, :place, :document)
on conflict (dataset, place) do update set document_id = excluded.document_id
"""


@dataclass(frozen=True, slots=True)
class PostgresPurges:
    """``purges.Purges`` over Postgres."""

    db: Database

    def all(self, dataset: str) -> set[PurgedDocument]:
        """Every purged document of a dataset."""
        found = self.db.rows(
            "select place::text, document_id::text from purged_document where dataset = :dataset", dataset=dataset
        )
        return {PurgedDocument(place, document) for place, document in found}

    def add(self, dataset: str, purged: PurgedDocument) -> None:
        """Remember that a document was purged."""
        self.db.run(_ADD, dataset=dataset, place=purged.place, document=purged.document_id)

    def undo(self, dataset: str, purged: PurgedDocument) -> None:
        """Let the next build read the document again."""
        self.db.run(
            "delete from purged_document where dataset = :dataset and place = :place",
            dataset=dataset,
            place=purged.place,
        )
