"""The age of what is stale by its recipe alone: it counts from the first build that asked for the recipe."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from overstory.building.context import BuildContext
from overstory.building.summaries import recipes_of
from overstory.nodes import NodeKind

SUMMARIES = tuple(kind for kind in NodeKind if kind is not NodeKind.LEAF)


def note_recipes(ctx: BuildContext) -> None:
    """Note which recipes this build asks for; writes nothing where the last one asked for the same."""
    recipes = recipes_of(ctx)
    ctx.record.recipes_seen.note(ctx.name, {kind: recipes(kind) for kind in SUMMARIES})


def asked_since(ctx: BuildContext, recipes: Collection[tuple[NodeKind, str]]) -> Iterable[datetime]:
    """When builds began to ask for each of these recipes; none for one that no build has asked for."""
    seen = ctx.record.recipes_seen.of(ctx.name) if recipes else {}
    return [seen[kind].first_seen for kind, recipe in recipes if kind in seen and seen[kind].recipe_hash == recipe]
