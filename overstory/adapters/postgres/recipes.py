"""Since when builds ask for a recipe, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from overstory.adapters.postgres.database import Database
from overstory.nodes import NodeKind
from overstory.recipes_seen import SeenRecipe

_NOTE = """
insert into recipe_seen (dataset, kind, recipe_hash)
select d.name, new.kind, new.recipe_hash
from dataset d, unnest(cast(:kinds as text[]), cast(:recipes as text[])) as new (kind, recipe_hash)
where d.name = :dataset
on conflict (dataset, kind) do update set recipe_hash = excluded.recipe_hash, first_seen = now()
"""


@dataclass(frozen=True, slots=True)
class PostgresRecipes:
    """``recipes_seen.RecipesSeen`` over Postgres."""

    db: Database

    def note(self, dataset: str, recipes: Mapping[NodeKind, str]) -> None:
        """A build asks for these recipes; one that is noted already keeps its time. No dataset, no note."""
        known = self.of(dataset)
        new = {k.value: r for k, r in recipes.items() if k not in known or known[k].recipe_hash != r}
        if new:
            self.db.run(_NOTE, dataset=dataset, kinds=list(new), recipes=list(new.values()))

    def of(self, dataset: str) -> dict[NodeKind, SeenRecipe]:
        """The recipes that the last build asked for; empty before the first one."""
        found = self.db.rows("select kind, recipe_hash, first_seen from recipe_seen where dataset = :d", d=dataset)
        return {NodeKind(kind): SeenRecipe(recipe, since) for kind, recipe, since in found}
