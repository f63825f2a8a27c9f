"""Summaries of clusters, level by level: level 2 and above."""

from __future__ import annotations

from collections.abc import Collection

from overstory.building.context import BuildContext, timed
from overstory.building.recipe_ages import note_recipes
from overstory.building.report import StageReport
from overstory.building.summaries import Maker, named, outstanding, recipes_of
from overstory.tree import cluster_target

STAGE = "cluster_summaries"


@timed
def summarize_clusters(ctx: BuildContext, shards: Collection[int] | None = None) -> StageReport:
    """Make every cluster summary that is not fresh; a level reads the one below as it then is."""
    report = StageReport(STAGE)
    note_recipes(ctx)
    recipes = recipes_of(ctx)
    for level in ctx.record.clusters.levels(ctx.name):
        trees = ctx.record.clusters.trees(ctx.name, level, shards)
        stored = {tree.stored.id: tree.stored for tree in trees if tree.stored}
        targets = [cluster_target(tree, recipes) for tree in trees if tree.members]
        Maker(ctx, report).make(outstanding(targets, stored, report))
    report.problems = named(ctx, report.problems)
    return report
