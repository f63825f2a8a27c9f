"""What is remembered of embedders, in Postgres."""

from __future__ import annotations

import json
from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.known_embedders import KnownEmbedder

_FIND = """
select recipe, embedding_hash, name, settings, canonical, checked_run, doubted from embedder
where {column} = :value order by held_at desc, recipe
"""

_KEEP = """
insert into embedder (recipe, embedding_hash, name, settings, canonical, checked_run, doubted)
values (:recipe, :hash, :name, cast(:settings as jsonb), :canonical, :run, :doubted)
on conflict (recipe, embedding_hash) do update
set settings = excluded.settings, canonical = excluded.canonical, checked_run = excluded.checked_run,
    doubted = excluded.doubted, held_at = clock_timestamp()
"""

_NOTE = """
update embedder set checked_run = :run, doubted = :doubted where recipe = :recipe and embedding_hash = :hash
"""


@dataclass(frozen=True, slots=True)
class PostgresEmbedders:
    """``known_embedders.KnownEmbedders`` over Postgres."""

    db: Database

    def opened_by(self, recipe: str) -> KnownEmbedder | None:
        """What a recipe opened when it was last asked."""
        return next(iter(self._find("recipe", recipe)), None)

    def making(self, embedding_hash: str) -> list[KnownEmbedder]:
        """The embedders that have made vectors of an embedding, the one seen last first."""
        return self._find("embedding_hash", embedding_hash)

    def named(self, name: str) -> list[KnownEmbedder]:
        """The embedders of a name, by any recipe, the one seen last first."""
        return self._find("name", name)

    def keep(self, known: KnownEmbedder) -> None:
        """Note that its recipe opens this embedder from now on."""
        self.db.run(
            _KEEP,
            recipe=known.recipe,
            hash=known.embedding_hash,
            name=known.name,
            settings=json.dumps(dict(known.settings)),
            canonical=list(known.canonical),
            run=known.checked_run,
            doubted=known.doubted,
        )

    def note(self, known: KnownEmbedder) -> None:
        """Note its doubt and the run that compared it, where it is remembered."""
        self.db.run(_NOTE, run=known.checked_run, doubted=known.doubted, recipe=known.recipe, hash=known.embedding_hash)

    def _find(self, column: str, value: str) -> list[KnownEmbedder]:
        found = self.db.rows(_FIND.format(column=column), value=value)
        return [
            KnownEmbedder(recipe, hashed, name, settings, tuple(canonical), run, doubted)
            for recipe, hashed, name, settings, canonical, run, doubted in found
        ]
