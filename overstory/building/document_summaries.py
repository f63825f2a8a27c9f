"""Summaries of leaves, sections and documents: level 0′ and level 1."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from overstory.building.context import BuildContext, timed
from overstory.building.recipe_ages import note_recipes
from overstory.building.report import StageReport
from overstory.building.summaries import Maker, named, outstanding, recipes_of, remove_surplus
from overstory.record import DocumentTree
from overstory.tree import Recipes, Target, chunk_targets, document_target, section_targets

STAGE = "document_summaries"


@timed
def summarize_documents(ctx: BuildContext, shards: Collection[int] | None = None) -> StageReport:
    """Make every summary up to the document that is not fresh: chunks and sections first, then documents."""
    report = StageReport(STAGE)
    note_recipes(ctx)
    found = ctx.record.summaries.trees(ctx.name, shards, with_leaves=ctx.dataset.summaries.chunk)
    trees = [tree for tree in found if ctx.chosen(tree.document_id)]
    recipes = recipes_of(ctx)
    lower = lower_targets(trees, recipes, with_chunks=ctx.dataset.summaries.chunk)
    _remove_surplus(ctx, trees, lower, recipes, report)
    stored = {node: summary for tree in trees for node, summary in tree.stored.items()}
    stored |= Maker(ctx, report).make(outstanding(lower, stored, report))
    upper = [document_target(tree, recipes, stored) for tree in trees]
    Maker(ctx, report).make(outstanding(upper, stored, report))
    report.problems = named(ctx, report.problems, trees)
    return report


def lower_targets(trees: Sequence[DocumentTree], recipes: Recipes, *, with_chunks: bool) -> list[Target]:
    """Targets that stand over leaves alone: sections, and chunks where they are wanted."""
    sections = [target for tree in trees for target in section_targets(tree, recipes)]
    chunks = [target for tree in trees for target in chunk_targets(tree, recipes)] if with_chunks else []
    return [*chunks, *sections]


def _remove_surplus(
    ctx: BuildContext, trees: Sequence[DocumentTree], lower: Sequence[Target], recipes: Recipes, report: StageReport
) -> None:
    wanted = {target.id for target in lower}
    for tree in trees:
        documents = {document_target(tree, recipes, tree.stored).id}
        remove_surplus(ctx, tree.stored, wanted | documents if tree.stored else documents, tree.shard, report)
