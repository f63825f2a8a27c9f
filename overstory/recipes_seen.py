"""Since when builds ask for a recipe: the age of what is stale by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from overstory.nodes import NodeKind


@dataclass(frozen=True, slots=True)
class SeenRecipe:
    """The recipe that the last build asked for."""

    recipe_hash: str
    first_seen: datetime
    """When the first build asked for it, of those that did so one after the other."""


class RecipesSeen(Protocol):
    """The recipes that builds ask for, by kind of summary."""

    def note(self, dataset: str, recipes: Mapping[NodeKind, str]) -> None:
        """A build asks for these recipes; one that is noted already keeps its time. No dataset, no note."""
        ...

    def of(self, dataset: str) -> dict[NodeKind, SeenRecipe]:
        """The recipes that the last build asked for; empty before the first one."""
        ...
